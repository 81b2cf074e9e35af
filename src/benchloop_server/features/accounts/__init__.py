"""Workspaces, users and API keys."""
