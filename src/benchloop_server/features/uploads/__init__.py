"""Uploads: bytes named by their hash are received, judged and stored; nothing refers to them until a job is committed."""
