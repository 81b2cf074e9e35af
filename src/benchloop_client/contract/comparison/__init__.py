"""How two groups compare: one rule for `bl diff` and for the server's page."""
