"""What a look at one piece found: well, worth a word, or broken, with the way out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from benchloop_client.errors import one_line

Status = Literal["ok", "warn", "fail"]
#: What a failure is about; decides the exit code of `bl doctor`.
Trouble = Literal["local", "network", "key"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `check` names the piece, `text` says what was seen, `fix` what to do (empty where all is well)."""

    check: str
    status: Status
    text: str
    fix: str = ""
    trouble: Trouble = "local"

    @classmethod
    def ok(cls, check: str, text: str) -> Finding:
        """All is well."""
        return cls(check, "ok", one_line(text))

    @classmethod
    def warn(cls, check: str, text: str, fix: str) -> Finding:
        """It works, but may not be what was meant."""
        return cls(check, "warn", one_line(text), one_line(fix))

    @classmethod
    def fail(cls, check: str, text: str, fix: str, trouble: Trouble = "local") -> Finding:
        """It does not work."""
        return cls(check, "fail", one_line(text), one_line(fix), trouble)


def worst(findings: Iterable[Finding]) -> Trouble | None:
    """What the gravest failure is about: the key, the network, this machine; None without one."""
    troubles = {finding.trouble for finding in findings if finding.status == "fail"}
    order: tuple[Trouble, ...] = ("key", "network", "local")
    return next((trouble for trouble in order if trouble in troubles), None)
