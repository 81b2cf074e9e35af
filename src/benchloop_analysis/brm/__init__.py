"""The behaviour reward model: which behaviour goes with reward within the task, what could not have been seen, how good the model is."""
