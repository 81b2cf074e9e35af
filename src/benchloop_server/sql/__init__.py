"""The schema: every table in one file, and the migrations that lead there."""
