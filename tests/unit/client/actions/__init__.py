"""Tests of the client's actions."""
