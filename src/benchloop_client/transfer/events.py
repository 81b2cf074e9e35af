"""What happens while files are moved, as small records for whoever shows progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Started:
    """Work on `name` began; `size` in bytes when it is known."""

    name: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Advanced:
    """`count` more bytes of `name` arrived."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Done:
    """`name` is complete at `path`, `size` bytes."""

    name: str
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Kept:
    """`name` was left as it is, for `reason`."""

    name: str
    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """`name` failed with `error`; nothing of it was kept."""

    name: str
    error: Exception


Event = Started | Advanced | Done | Kept | Failed
#: Takes events from any thread; must be quick and must not raise.
Sink = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A sink that shows nothing."""


def counted(chunks: Iterable[bytes], name: str, *, sink: Sink) -> Iterator[bytes]:
    """`chunks` unchanged, each reported as `Advanced`."""
    for chunk in chunks:
        sink(Advanced(name, len(chunk)))
        yield chunk
