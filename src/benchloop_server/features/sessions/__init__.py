"""Browsers that are signed in with a key."""
