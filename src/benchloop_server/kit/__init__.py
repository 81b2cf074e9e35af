"""Protocols and plumbing: nothing in this room knows what a group or a job is."""
