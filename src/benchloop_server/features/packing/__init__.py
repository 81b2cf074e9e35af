"""Packing: the small blobs of a group that has come to rest become few large ones, so that a whole group is few large reads."""
