"""Things a user does, for the terminal and for Python alike: they return plain records, raise our own errors and never print."""
