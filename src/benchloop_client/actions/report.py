"""What became of a run over many items: how many went well, and each failure with its label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from benchloop_client.errors import AuthError, BenchloopError, NetworkError


@dataclass(frozen=True, slots=True)
class Failure:
    """One item that failed; `label` is its id, or `<id>:<resource>`; `about` says which part of it (`meta: `), where that is not clear."""

    label: str
    error: BenchloopError
    about: str = ""

    @property
    def text(self) -> str:
        """What went wrong, for a person and for manifests."""
        return f"{self.about}{self.error}"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """What a dry run says of one file: `path` relative to the output directory; `what` kind of data; `size` in bytes, None if not known: on
    the disk for a file that is kept, else as the server announces it, before it is laid out or packed.
    """

    path: str
    what: str
    size: int | None
    action: Literal["fetch", "keep"]

    def as_json(self) -> dict[str, Any]:
        """As `--dry-run` prints it."""
        return {"path": self.path, "what": self.what, "bytes": self.size, "action": self.action}


@dataclass(frozen=True, slots=True)
class Report:
    """`done` items went well, the others are in `failures` in the order asked for; `what` names the items in the summary. A dry run has in
    `planned` what would become of each file, by path; any other run has nothing there.
    """

    done: int = 0
    failures: tuple[Failure, ...] = ()
    what: str = "id(s)"
    planned: tuple[PlannedFile, ...] = ()

    @classmethod
    def of_all(cls, reports: Iterable[Report], *, what: str = "id(s)") -> Report:
        """Several runs as one."""
        parts = list(reports)
        return cls(sum(part.done for part in parts), tuple(failure for part in parts for failure in part.failures), what)

    @property
    def ok(self) -> bool:
        """Nothing failed."""
        return not self.failures

    @property
    def unreachable(self) -> bool:
        """Nothing went well, and every failure was that the server could not be reached."""
        return not self.done and bool(self.failures) and all(isinstance(failure.error, NetworkError) for failure in self.failures)

    @property
    def broken_off(self) -> bool:
        """Something failed that another try may bring: the same command then goes on where this one stopped."""
        return any(isinstance(failure.error, NetworkError) for failure in self.failures)

    @property
    def refused(self) -> bool:
        """A failure was that the key was refused."""
        return any(isinstance(failure.error, AuthError) for failure in self.failures)
