"""A process that computes for a worker: the tasks come on standard input, its settings are in the environment."""

from __future__ import annotations

import contextlib
import os
import signal

from benchloop_server.adapters import hands_processes
from benchloop_server.settings import load
from benchloop_server.wiring import open_blobs

#: How much more others count, where both want the processor.
_NICE = 10


def main() -> None:
    """Compute until the worker ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
    hands_processes.serve(open_blobs(load()))


if __name__ == "__main__":
    main()
