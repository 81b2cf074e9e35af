"""Bulk: what many jobs have of one kind as one body of items, with an index, that can be taken up at any byte."""
