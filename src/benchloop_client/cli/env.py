"""Everything a command meets outside its arguments: the three streams, the clock, and how settings and client are made."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TextIO

from benchloop_client.cli.lazy import lazy

if TYPE_CHECKING:
    import getpass

    from benchloop_client import client, settings
    from benchloop_client.cli import update_notice
else:
    getpass = lazy("getpass")
    client = lazy("benchloop_client.client")
    settings = lazy("benchloop_client.settings")
    update_notice = lazy("benchloop_client.cli.update_notice")


def _typed_unseen(question: str) -> str:
    """What a person types at the terminal of this process, which does not show it."""
    return getpass.getpass(question)


@dataclass(frozen=True, slots=True)
class Env:
    """`stdout` takes bytes; a stream is None where the process has none. `clock` counts seconds; with `ticks` a progress line is drawn also
    while nothing happens. Without `open_update` nobody looks for a newer version.
    """

    stdin: TextIO | None
    stdout: IO[bytes] | None
    stderr: TextIO | None
    clock: Callable[[], float]
    load_settings: Callable[[settings.Flags], settings.Settings]
    open_client: Callable[[settings.Settings, threading.Event], client.Client]
    open_update: Callable[[settings.Settings], update_notice.UpdateNotice] | None = None
    ticks: bool = False
    ask_hidden: Callable[[str], str] = _typed_unseen

    @classmethod
    def real(cls) -> Env:
        """This process; settings and client are loaded only when they are called for."""
        return cls(
            stdin=sys.stdin,
            stdout=sys.stdout.buffer if sys.stdout is not None else None,
            stderr=sys.stderr,
            clock=time.monotonic,
            load_settings=lambda flags: settings.load(flags),  # noqa: PLW0108 - a bare name would import it now
            open_client=lambda loaded, cancel: client.Client(loaded, cancel),  # noqa: PLW0108 - a bare name would import it now
            open_update=lambda loaded: update_notice.UpdateNotice.real(loaded),  # noqa: PLW0108 - a bare name would import it now
            ticks=True,
        )
