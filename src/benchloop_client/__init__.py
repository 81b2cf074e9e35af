"""The command line client and library."""
