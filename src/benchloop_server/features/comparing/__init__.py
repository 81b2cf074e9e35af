"""Two groups, or two steps, compared task by task, by the rule of `bl diff`."""
