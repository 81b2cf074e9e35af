"""Is there a newer version of this program? Which index to ask, what it says, and the file that remembers the answer for a day."""
