"""Trajectories: the stored form, one job's document, and the media it shows."""
