"""Exports: every trajectory of a group as one body, made by joining what is stored."""
