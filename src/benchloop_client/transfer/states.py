"""What is kept on the disk about a part of a download: whose it is, what it will become, and how far it came."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchloop_client.transfer import owners


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a state: the name of the file with the bytes, and what they will become."""

    part: str
    source: str
    path: str


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A checkpoint. `offset`: bytes of the answer that are dealt with; `size`: bytes of the part that stem from them; `total`: bytes of the
    whole answer, None if unknown; `items` and `note`: what the caller needs to go on, as JSON; `durable`: it was synced; `boot`: see
    `owners.boot`.
    """

    etag: str = ""
    offset: int = 0
    size: int = 0
    total: int | None = None
    items: int = 0
    note: Any = None
    durable: bool = False
    boot: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A part on the disk as it is found: its files and what they say."""

    head: Head
    state: State
    state_file: Path
    owner: str

    @property
    def file(self) -> Path:
        """The bytes."""
        return self.state_file.with_name(self.head.part)


def strong(etag: str | None) -> bool:
    """Whether bytes of the version `etag` can be put together from several answers."""
    return bool(etag) and str(etag).startswith('"')


def remove(kept: Kept) -> None:
    """Remove a part and its state, as far as they are there."""
    for path in (kept.file, kept.state_file):
        with suppress(OSError):
            path.unlink()


def read(state_file: Path) -> Kept | None:
    """What a state says, None if it is torn from the start or somebody just took it."""
    try:
        lines = state_file.read_bytes().split(b"\n")
        head = msgspec.json.decode(lines[0], type=Head)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if Path(head.part).name != head.part or not head.part.endswith(".part"):
        return None
    return Kept(head, _usable(lines[1:], state_file.with_name(head.part)), state_file, state_file.name.split(".")[1])


def _usable(lines: list[bytes], part: Path) -> State:
    """The last checkpoint whose bytes are there for sure: those after a crash of the machine only if they were synced."""
    try:
        size = part.lstat().st_size
    except OSError:
        return State()
    found, boot = State(), owners.boot()
    for line in lines:
        try:
            state = msgspec.json.decode(line, type=State)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if not state.offset or (state.size <= size and (state.durable or (boot and state.boot == boot))):
            found = state
    return found
