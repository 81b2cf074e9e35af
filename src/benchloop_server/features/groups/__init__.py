"""Groups and everything computed over one group's jobs."""
