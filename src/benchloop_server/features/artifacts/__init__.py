"""Artifacts: the one archive of a job, its files, and the list of a group's archives."""
