"""Tests of the client's cli."""
