"""Move many files: archives, part files, journals and pools. Knows no groups, no HTTP, no terminal."""
