"""The installed programs on loopback: what they print, write and answer to the shell."""
