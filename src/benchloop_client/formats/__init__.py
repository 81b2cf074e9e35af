"""Readers of run directories: each turns what a harness left on disk into the records of the contract. They read, never write."""
