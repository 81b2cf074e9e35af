"""The self-hosted service."""
