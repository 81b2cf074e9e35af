"""Fetches again what `verify` finds missing, changed or failed, by what the journal says about where each file came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchloop_client.actions import artifacts, job_metadata, jobs, lists, metrics, task_archives, tasks, trajectory
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.events import Counter
from benchloop_client.actions.lists import ListOf, Query
from benchloop_client.actions.report import Report
from benchloop_client.actions.reports import REPORT, Kind, Saving
from benchloop_client.actions.rsi import RSI
from benchloop_client.actions.selection import Selection
from benchloop_client.actions.verify import BAD, Finding, examine
from benchloop_client.actions.work import Counted, Work
from benchloop_client.actions.zip_parts import LEVEL
from benchloop_client.errors import LocalError
from benchloop_client.transfer.journal import Entry, Journal

_COMPACT = " compact"
_LEVEL = re.compile(r" level=([0-9])\Z")
_WORD = re.compile(r" (?=(?:status|outcome|task|step|fail_reason|sample|seed)=)")
_FILTER = re.compile(r" (?=(?:template|status|instance_id|search)=)")
_WHAT = "file(s)"


@dataclass(frozen=True, slots=True)
class Found:
    """What has to be fetched again, and which commands were cut short. `host`: the server that it came from, empty if that is not known."""

    bad: tuple[Entry, ...]
    unfinished: tuple[str, ...]
    host: str


def look(root: Path) -> Found:
    """What of an output directory has to be fetched again. Raises `LocalError` for one without a journal."""
    with Journal(root, read_only=True) as journal:
        host, unfinished = journal.host, tuple(sorted({run.rpartition(" ")[0] for run in journal.unfinished()}))
    bad = tuple(found.entry for found in examine(root) if found.entry is not None and _is_bad(found))
    return Found(bad, unfinished, host)


def again(work: Work, bad: Iterable[Entry], destination: Destination) -> Report:
    """Fetch files again, each by itself, in the layout of `destination`; failures carry the path of the file.

    What is on the disk stays there until the new file is whole.
    """
    wanted = list(bad)
    # From now on nothing takes them for complete, not even a server that is asked what has changed.
    destination.journal.add_all(_as_failed(entry) for entry in wanted if entry.status in {"done", "missing"})
    count = Counted(Counter(work.watch, "files fetched again", "files", len(wanted), timed=True), "fetched")
    steps = [_step(entry) for entry in wanted]
    # What fills the connections by itself comes one after another.
    side_by_side = work.run([step for step in steps if not step.alone], lambda step: step.do(work, destination), label=_path, count=count)
    in_turn = work.in_turn([step for step in steps if step.alone], lambda step: step.do(work, destination), label=_path, count=count)
    return Report.of_all([side_by_side, in_turn], what=_WHAT)


def is_compact(entry: Entry) -> bool:
    """Whether the file was written without indentation."""
    return _LEVEL.sub("", entry.source).endswith(_COMPACT)


def _is_bad(found: Finding) -> bool:
    return found.state in BAD or found.state == "placeholder"


def _as_failed(entry: Entry) -> Entry:
    return Entry(path=entry.path, source=entry.source, status="failed", error="it was not as it had been written")


@dataclass(frozen=True, slots=True)
class _Step:
    """One file to be fetched again."""

    entry: Entry
    operation: str
    rest: str

    @property
    def alone(self) -> bool:
        """Whether it has work for the whole pool."""
        return self.operation in _ALONE

    def do(self, work: Work, destination: Destination) -> None:
        """Fetch it. Raises what that raises, and `LocalError` for a file of which the journal does not say enough."""
        fetch = _FETCH.get(self.operation)
        if fetch is None:
            raise self.unclear()
        fetch(work, self, destination)

    def unclear(self) -> LocalError:
        """The journal does not say enough."""
        return LocalError("the journal does not say where it came from: run the command that wrote it again")


def _path(step: _Step) -> str:
    return step.entry.path


def _step(entry: Entry) -> _Step:
    source = _LEVEL.sub("", entry.source).removesuffix(_COMPACT)
    operation, _, rest = source.partition(" ")
    return _Step(entry, operation, rest)


def _group_trajectory(work: Work, step: _Step, destination: Destination) -> object:
    group_id, selection = _selected(step)
    return trajectory.save_group(replace(work, selection=selection, chosen={}), group_id, destination)


def _archive(work: Work, step: _Step, destination: Destination) -> object:
    task_id, selection = _selected(step)
    named = _LEVEL.search(step.entry.source)
    action = task_archives.trajectories if step.operation == "_trajectories.zip" else task_archives.metadata
    report = action(replace(work, selection=selection, chosen={}), task_id, destination, level=int(named.group(1)) if named else LEVEL)
    if report.failures:
        raise report.failures[0].error
    return report


def _selected(step: _Step) -> tuple[str, Selection]:
    """The id and the selection that the source names. Raises `LocalError` where it cannot be read for certain."""
    item, *words = _WORD.split(step.rest)
    given: dict[str, str] = dict(word.split("=", 1) for word in words)

    def listed(name: str) -> tuple[str, ...]:
        return tuple(given[name].split(",")) if name in given else ()

    try:
        selection = Selection(
            status=listed("status"),
            outcome=listed("outcome"),
            tasks=listed("task"),
            steps=tuple(map(int, listed("step"))),
            fail_reasons=listed("fail_reason"),
            sample=int(given["sample"]) if "sample" in given else None,
            seed=given.get("seed"),
        )
    except ValueError:
        raise step.unclear() from None
    if selection.source(f"{step.operation} {item}", item) != f"{step.operation} {step.rest}":
        raise step.unclear()
    return item, selection


def _listed(kind: ListOf) -> Callable[[Work, _Step, Destination], object]:
    def fetch(work: Work, step: _Step, destination: Destination) -> object:
        group_id, *words = _FILTER.split(step.rest)
        query = Query(page_size=1000, everything=True, filters=dict(word.split("=", 1) for word in words))
        return lists.save(kind, work, group_id, destination, query=query)

    return fetch


def _report(kind: Kind, *, group: bool) -> Callable[[Work, _Step, Destination], object]:
    def fetch(work: Work, step: _Step, destination: Destination) -> object:
        saving = Saving(kind, work, destination)
        if group:
            saving.own(step.rest)
        else:
            saving.job_to(step.rest, step.entry.path)
        saving.lacking.tell(work)
        return None

    return fetch


#: What the first word of a source stands for.
_FETCH: Mapping[str, Callable[[Work, _Step, Destination], object]] = {
    "job_trajectory": lambda work, step, target: trajectory.save_job(work, step.rest, target),
    "group_trajectory": _group_trajectory,
    "_trajectories.zip": _archive,
    "_metadata.zip": _archive,
    "metadata": lambda work, step, target: job_metadata.save_to(work, step.rest, target, path=step.entry.path),
    "artifact": lambda work, step, target: artifacts.save_to(work, step.rest, target, path=step.entry.path),
    "member": lambda work, step, target: artifacts.save_member_to(work, step.rest, target, path=step.entry.path),
    "job_metrics": lambda work, step, target: metrics.save_job(work, step.rest, target),
    "overall": lambda work, step, target: metrics.save_overall(work, step.rest, target),
    "detail": lambda work, step, target: metrics.save_detail(work, step.rest, target),
    tasks.TASKS.rows: _listed(tasks.TASKS),
    jobs.JOBS.rows: _listed(jobs.JOBS),
    REPORT.name: _report(REPORT, group=True),
    f"job_{REPORT.name}": _report(REPORT, group=False),
    RSI.name: _report(RSI, group=True),
    f"job_{RSI.name}": _report(RSI, group=False),
}
_ALONE = frozenset({"group_trajectory", "_trajectories.zip", "_metadata.zip"})
