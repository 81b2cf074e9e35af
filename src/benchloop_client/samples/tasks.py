"""The tasks of the sample runs, read from `tasks.toml` beside this file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]


@dataclass(frozen=True, slots=True)
class Move:
    """One turn of the agent: what it thinks, the command it runs, and what comes back."""

    thought: str
    command: str
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class SampleTask:
    """A task: its instruction, the moves that solve it, the moves of a wrong turn, the agent's last word and the verifier's checks."""

    name: str
    instruction: str
    done: str
    checks: tuple[str, ...]
    solution: tuple[Move, ...]
    mistake: tuple[Move, ...]


def load_tasks() -> tuple[SampleTask, ...]:
    """The tasks in their order."""
    text = files("benchloop_client.samples").joinpath("tasks.toml").read_text("utf-8")
    return tuple(_task(entry) for entry in tomllib.loads(text)["task"])


def _task(entry: dict[str, Any]) -> SampleTask:
    return SampleTask(
        name=entry["name"],
        instruction=entry["instruction"],
        done=entry["done"],
        checks=tuple(entry["checks"]),
        solution=tuple(Move(**move) for move in entry["solution"]),
        mistake=tuple(Move(**move) for move in entry["mistake"]),
    )
