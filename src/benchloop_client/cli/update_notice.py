"""Two lines on stderr when a newer version is out: looked up in the background, at most once a day, and never waited for."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchloop_client.cli.lazy import lazy
from benchloop_client.contract.version import DISTRIBUTION, PROJECT_URL, __version__
from benchloop_client.settings import Settings, installer_variables
from benchloop_client.updates import versions
from benchloop_client.updates.memory import Memory, Remembered

if TYPE_CHECKING:
    from importlib import metadata

    from benchloop_client.updates import installers, lookup
else:
    metadata = lazy("importlib.metadata")
    installers = lazy("benchloop_client.updates.installers")
    lookup = lazy("benchloop_client.updates.lookup")

#: Seconds from the beginning of a command to that of the look-up.
DELAY = 0.5
#: Finds the newest version of ours; None if the index has nothing of ours. May take long; ends soon once the event is set.
LookUp = Callable[[threading.Event], "str | None"]


@dataclass(frozen=True, slots=True)
class Running:
    """This program: its version, and the command that upgrades it."""

    version: str
    upgrade: Callable[[], str]


class UpdateNotice:
    """`begin` when a command starts to use the network, `lines` at its end; neither waits for anything but a small file."""

    def __init__(
        self, file: Memory, look_up: LookUp, running: Running, *, clock: Callable[[], float] = time.time, delay: float = DELAY
    ) -> None:
        self._file, self._look_up, self._running, self._clock, self._delay = file, look_up, running, clock, delay
        self._cancel = threading.Event()
        self._remembered = Remembered()
        self._ended: threading.Event | None = None

    @classmethod
    def real(cls, settings: Settings) -> UpdateNotice:
        """Of this installation, with the connections that `settings` describe."""
        variables = installer_variables()
        running = Running(__version__, lambda: upgrade_command(Path(sys.prefix), installed_by(), sys.executable))
        return cls(Memory.of(variables, Path.home()), lambda cancel: _asked(settings, variables, cancel), running)

    def begin(self) -> None:
        """Read what is remembered; if that is too old, look up in a thread that ends with the process."""
        self._remembered = self._file.read()
        if self._remembered.due(PROJECT_URL, self._clock()):
            self._ended = threading.Event()
            threading.Thread(target=self._run, args=(self._remembered, self._ended), name="benchloop-update", daemon=True).start()

    def lines(self) -> list[str]:
        """The notice, if there is one to show now. The look-up, if it still runs, is given up."""
        if self._ended is not None and not self._ended.is_set():
            self._cancel.set()
            return []
        now = self._clock()
        found = self._remembered.known(PROJECT_URL, now)
        if not versions.newer(found, self._running.version) or not self._remembered.may_notify(now):
            return []
        if not self._file.write(self._remembered.notified(now)):
            return []
        return [
            f"[update] {DISTRIBUTION} {found} is available, this is {self._running.version}",
            f"[update] upgrade with: {self._running.upgrade()}",
        ]

    def _run(self, remembered: Remembered, ended: threading.Event) -> None:
        # Not even the imports of a look-up are worth slowing down a command that is done before it could end.
        if self._cancel.wait(self._delay):
            return
        # Noted before asking: a look-up that the end of its command cuts off must not be begun anew by each of the next ones.
        begun = remembered.begun(self._clock())
        if not self._file.write(begun):
            return
        try:
            found = self._look_up(self._cancel)
            result = begun.ended(PROJECT_URL, found or "", self._clock())
        except Exception:  # noqa: BLE001 - no index and no answer, however strange, may disturb the command
            result = begun.failed(self._clock())
        if self._cancel.is_set():
            return
        self._file.write(result)
        self._remembered = result
        ended.set()


def upgrade_command(prefix: Path, installer: str, python: str) -> str:
    """How the installation below `prefix` is upgraded: as a tool of uv or pipx, or in its environment by the installer that made it."""
    name = DISTRIBUTION.replace("_", "-")
    parts = prefix.parts
    for tool, folders in (("uv tool upgrade", ("uv", "tools")), ("pipx upgrade", ("pipx", "venvs"))):
        if any(parts[place : place + 2] == folders for place in range(len(parts))):
            return f"{tool} {name}"
    if installer == "uv":
        return f"uv pip install --upgrade {name}"
    return f"{python or 'python'} -m pip install --upgrade {name}"


def installed_by() -> str:
    """The program that installed us, `pip` where nothing is known."""
    try:
        said = metadata.distribution(DISTRIBUTION).read_text("INSTALLER")
    except (metadata.PackageNotFoundError, OSError, UnicodeDecodeError):
        return "pip"
    return (said or "").strip().lower() or "pip"


def _asked(settings: Settings, variables: dict[str, str], cancel: threading.Event) -> str | None:
    place = installers.Place(variables, Path.home(), Path(sys.prefix), installer=installed_by())
    index = installers.configured(place)
    if index is None:
        return None
    http = lookup.asking(index, settings, cancel)
    try:
        return lookup.latest(index, lookup.Project(DISTRIBUTION, PROJECT_URL, __version__), lookup.fetching(index, http))
    finally:
        http.close()
