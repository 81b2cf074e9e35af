"""The file that remembers for a day what the index said, that it failed, or that a look-up was cut short."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

DAY = 24 * 3600.0
#: Pause after a look-up that was cut short because the command had ended; it doubles each time, up to a day.
FIRST_PAUSE = 600.0
_FILE = Path("benchloop") / "version-check.json"


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    """Seconds since 1970 and versions. `checked_at` and `latest_version` are the documented keys (the version is empty where the index has
    nothing of ours). `project` is whose version it is: an entry of another program of the same name says nothing to us. `failed_at`: the
    last look-up failed then. `tried_at`, `tries`: look-ups begun since the last one that ended. `notified_at`: the notice was shown.
    """

    checked_at: float = 0.0
    latest_version: str = ""
    project: str = ""
    failed_at: float = 0.0
    tried_at: float = 0.0
    tries: int = 0
    notified_at: float = 0.0

    def known(self, project: str, now: float) -> str:
        """The version that the index had within the last day; empty if that is not known."""
        return self.latest_version if self.project == project and _within(self.checked_at, now, DAY) else ""

    def due(self, project: str, now: float) -> bool:
        """True when the index may be asked."""
        if self.project == project and _within(self.checked_at, now, DAY):
            return False
        pause = min(DAY, FIRST_PAUSE * 2 ** min(max(self.tries, 1) - 1, 20))
        return not (_within(self.failed_at, now, DAY) or (self.tries > 0 and _within(self.tried_at, now, pause)))

    def may_notify(self, now: float) -> bool:
        """True when no notice was shown within the last day."""
        return not _within(self.notified_at, now, DAY)

    def begun(self, now: float) -> Remembered:
        """A look-up begins."""
        return msgspec.structs.replace(self, tried_at=now, tries=self.tries + 1)

    def ended(self, project: str, version: str, now: float) -> Remembered:
        """A look-up found `version`, or nothing of ours (empty)."""
        return msgspec.structs.replace(self, checked_at=now, latest_version=version, project=project, failed_at=0.0, tried_at=0.0, tries=0)

    def failed(self, now: float) -> Remembered:
        """A look-up failed."""
        return msgspec.structs.replace(self, failed_at=now, tried_at=0.0, tries=0)

    def notified(self, now: float) -> Remembered:
        """The notice was shown."""
        return msgspec.structs.replace(self, notified_at=now)


@dataclass(frozen=True, slots=True)
class Memory:
    """The file itself; nothing that goes wrong with it is an error."""

    path: Path

    @classmethod
    def of(cls, variables: Mapping[str, str], home: Path) -> Memory:
        """`$XDG_CACHE_HOME/benchloop/version-check.json`, by default below `~/.cache`."""
        cache = variables.get("XDG_CACHE_HOME")
        return cls((Path(cache).expanduser() if cache else home / ".cache") / _FILE)

    def read(self) -> Remembered:
        """What is remembered; nothing if the file is missing or broken."""
        try:
            found = msgspec.json.decode(self.path.read_bytes(), type=Remembered)
        except (OSError, ValueError, RecursionError):
            return Remembered()
        times = (found.checked_at, found.failed_at, found.tried_at, found.notified_at)
        return found if all(map(math.isfinite, times)) and 0 <= found.tries < 1000 else Remembered()

    def write(self, remembered: Remembered) -> bool:
        """Replace the file; false if that cannot be done."""
        part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(remembered) + b"\n")
            part.replace(self.path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            return False
        return True


def _within(moment: float, now: float, span: float) -> bool:
    return 0 <= now - moment < span
