"""Writes small realistic run directories, seeded, with tasks and texts of our own: for `make demo`, the docs and the tests."""

from __future__ import annotations

from benchloop_client.samples.generator import GROUP_STEPS, SampleRun, write_run, write_samples
from benchloop_client.samples.large import large_run, write_large

__all__ = ["GROUP_STEPS", "SampleRun", "large_run", "write_large", "write_run", "write_samples"]
