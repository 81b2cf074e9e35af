"""What a process of the analysis is told: which run, which part of it, by which rules, and where reports go."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import msgspec

from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, Run, Share


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """`rules` are texts of rule files; `siblings` the folder of `analyze_siblings`, None without one; `output` the folder for reports.

    `observe`: what the jobs did is wanted, too.
    """

    path: str
    format: str
    options: dict[str, str | int | list[str] | None]
    number: int = 0
    of: int = 1
    rules: tuple[tuple[str, str], ...] = ()
    siblings: str | None = None
    output: str | None = None
    pretty: bool = True
    observe: bool = False

    def share(self) -> Share:
        """The part that this process reads."""
        return Share(self.number, self.of)

    def open(self) -> Run:
        """The run."""
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in self.options.items()}
        return open_run(Path(self.path), format=self.format, options=ReadOptions(**given))  # type: ignore[arg-type]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a job did: `features` as MessagePack, or the `reason` why it is left out, a word of `brm.conduct.WORDS`, with the `error`."""

    features: bytes = b""
    reason: str | None = None
    error: str | None = None


def options_of(options: ReadOptions) -> dict[str, str | int | list[str] | None]:
    """The options as they travel."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(options).items()}
