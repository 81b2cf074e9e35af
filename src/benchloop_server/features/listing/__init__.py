"""The job list as people look through it: filtered by anything, counted by anything, ordered by anything, at any depth."""
