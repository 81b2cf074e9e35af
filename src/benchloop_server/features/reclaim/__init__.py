"""Giving back the space of uploads that no job names any more, and of blobs that no upload lies in."""
