"""Ctrl-C and SIGTERM: the first stops the work and lets it tidy up, a second ends at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_INTERRUPTED = 130


@contextmanager
def noticed(cancel: threading.Event) -> Iterator[None]:
    """In the block, SIGINT and SIGTERM set `cancel` and raise `KeyboardInterrupt`. After a SIGTERM the process ends by that signal at the
    end of the block. Outside the main thread, signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def notice(number: int, _frame: FrameType | None) -> None:
        if arrived:
            os._exit(_INTERRUPTED)
        arrived.append(number)
        cancel.set()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if signal.SIGTERM in arrived:
            os.kill(os.getpid(), signal.SIGTERM)
