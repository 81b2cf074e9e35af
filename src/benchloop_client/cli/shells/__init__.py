"""Completion for shells: the command tree as plain records, and a writer of a static script for each shell."""
