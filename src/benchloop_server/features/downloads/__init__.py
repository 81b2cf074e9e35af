"""Download tasks: a job list frozen under an id."""
