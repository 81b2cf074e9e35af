"""The documented protocol and command line, statement by statement; `statements/` says which test holds which."""
