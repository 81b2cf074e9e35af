"""Where Harbor jobs and their trials lie under a path, and which agent and model each trial is of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchloop_client.formats.jsonfile import Unreadable, find_object, mapping, text

#: How many folders below the given path jobs are looked for.
_SEARCH_DEPTH = 4
_JOB_MARKS = ("job_name", "n_total_trials", "trial_results", "stats", "n_concurrent_trials", "trials")
#: Of a job's folders, so many are looked into before it is decided that none is a trial.
_LOOKED_INTO = 50


@dataclass(frozen=True, slots=True)
class AgentKey:
    """What splits one job directory into groups: the agent and the model as the run's configuration names them."""

    agent: str | None
    model: str | None


@dataclass(frozen=True, slots=True)
class TrialRef:
    """One trial: its name, and either the job's folder that it lies in or, in legacy results, the record embedded in the job's result.
    There can be very many: what they have in common is held once.
    """

    name: str
    job: Path | None
    key: AgentKey
    embedded: dict[str, Any] | None = None

    @property
    def folder(self) -> Path | None:
        """Its own folder."""
        return None if self.job is None else self.job / self.name


def agent_key(config: dict[str, Any]) -> AgentKey:
    """The key in a trial's configuration, or in one agent entry of a job's (given as `{"agent": entry}`)."""
    agent = mapping(config.get("agent"))
    return AgentKey(text(agent.get("name")) or text(agent.get("import_path")), text(agent.get("model_name")))


def is_trial(folder: Path) -> bool:
    """Whether the folder holds a trial's own configuration or result."""
    return any("trial_name" in _glance(folder / name) for name in ("config.json", "result.json"))


def is_job(folder: Path) -> bool:
    """Whether the folder is a run directory: it has a job's own files, or trials in it."""
    for name in ("config.json", "result.json", "lock.json"):
        head = _glance(folder / name)
        if "trial_name" in head:
            return False
        if any(mark in head for mark in _JOB_MARKS):
            return True
    for count, child in enumerate(folders(folder)):
        if is_trial(child):
            return True
        if count >= _LOOKED_INTO:
            break
    return False


def find_jobs(path: Path, depth: int = _SEARCH_DEPTH) -> Iterator[Path]:
    """The run directories at or below `path`, in order of name. Links to folders are not followed below `path`."""
    if is_job(path):
        yield path
    elif depth > 0 and not is_trial(path):
        for child in folders(path):
            yield from find_jobs(child, depth - 1)


def folders(path: Path) -> Iterator[Path]:
    """The folders directly in `path` by name, without links and hidden ones; none when it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
    except OSError:
        return
    for name in sorted(names):
        yield path / name


def linked_folders(path: Path) -> list[str]:
    """The names of links in `path` that lead to folders: they could be trials, and are never followed."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_symlink() and entry.is_dir())
    except OSError:
        return []


def _glance(path: Path) -> dict[str, Any]:
    try:
        return find_object(path) or {}
    except Unreadable:
        return {}
