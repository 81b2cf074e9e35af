"""Uploads a run: what is new or changed and nothing else, a batch of jobs at a time, each job whole or not at all.

Jobs are read one after another; meanwhile the batches before are packed, sent and committed, these in the order of the run.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchloop_client.actions.events import Counter, Traced, Warned
from benchloop_client.actions.push_batches import Batch, Batches, Sent
from benchloop_client.actions.push_jobs import JobContent, Secrets, job_id_of, read, safe_group
from benchloop_client.actions.push_secrets import look
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work
from benchloop_client.contract.ids import MINTED
from benchloop_client.contract.resources import JobState
from benchloop_client.errors import Cancelled, LocalError, NotFound, UsageError
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, Rejected, Run, RunGroup, RunJob, UnreadableRun
from benchloop_client.transfer import pool

__all__ = ["Pushed", "PushedGroup", "Request", "Secrets", "SecretsFound", "as_json", "push"]

#: Batches that are packed and sent at once, beside the one that waits and the one that is read.
_AT_ONCE = 2
_HITS_SHOWN = 50
#: New objects before the collector looks at them.
_OBJECTS = 50_000
_NOTES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Request:
    """What to upload and how; the fields are the options of `bl push`."""

    path: Path
    format: str = "auto"
    group: str | None = None
    model: str | None = None
    benchmark: str | None = None
    step: int | None = None
    reward_key: str | None = None
    exclude: tuple[str, ...] = ()
    secrets: Secrets = "stop"


@dataclass
class PushedGroup:
    """What became of one group: `expected` jobs by the run's own plan (None: none), `present` ones on the server, this push's share."""

    group_id: str
    expected: int | None = None
    present: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: list[Rejected] = field(default_factory=list)

    def count(self, states: Iterable[JobState]) -> None:
        """Add what became of jobs."""
        for result in states:
            setattr(self, result.state, getattr(self, result.state) + 1)


@dataclass(frozen=True, slots=True)
class Pushed:
    """All groups of the run."""

    groups: tuple[PushedGroup, ...]
    report: Report


class SecretsFound(LocalError):
    """Keys or tokens in what would be sent; nothing was sent. `details`: `file:line kind` of each, the first fifty."""

    def __init__(self, found: Sequence[str]) -> None:
        more = len(found) - _HITS_SHOWN
        self.details = (*found[:_HITS_SHOWN], *((f"… and {more} more",) if more > 0 else ()))
        super().__init__(
            f"{len(found)} key(s) or token(s) found in the run, nothing was sent; "
            "remove them, leave files out with --exclude, replace them with --redact, or send them with --allow-secrets"
        )


def as_json(group: PushedGroup) -> dict[str, Any]:
    """The object of one group as `bl push` prints it."""
    counts = {name: getattr(group, name) for name in ("expected", "present", "new", "updated", "unchanged")}
    return {"group_id": group.group_id, **counts, "rejected": [{"source": each.source, "reason": each.reason} for each in group.rejected]}


def push(work: Work, request: Request) -> Pushed:
    """Upload the run at `request.path`. Raises `SecretsFound` before anything is sent, `LocalError` for a path that no reader knows,
    `UsageError` for a group id that cannot be; a job that cannot be taken is `rejected` and the rest goes on.
    """
    if request.group is not None and not MINTED.match(request.group):
        raise UsageError(
            f"group id {request.group!r} can hold letters, digits, `.`, `_` and `-` only, at most 128, and begins with a letter or digit"
        )
    work.client.must_have("upload", f"the server at {work.client.settings.origin} does not take uploads")
    # A run's documents are trees of many small objects without circles: looking for circles among them costs a tenth of the time.
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    plans = [_plan(work, group, request.secrets) for group in _opened(request).groups]
    hits = [hit for plan in plans for hit in plan.hits]
    if hits:
        raise SecretsFound(hits)
    return Pushed(tuple(_push_group(work, plan, request.secrets) for plan in plans), Report(len(plans)))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A group, whether the server has it already, the keys and tokens that stop the push, and how many jobs there are, if that is known."""

    group: RunGroup
    known: bool
    hits: tuple[str, ...] = ()
    jobs: int | None = None


def _opened(request: Request) -> Run:
    options = ReadOptions(
        group=request.group,
        model=request.model,
        benchmark=request.benchmark,
        step=request.step,
        reward_key=request.reward_key,
        exclude=request.exclude,
    )
    try:
        return open_run(request.path, format=request.format, options=options)
    except UnreadableRun as error:
        raise LocalError(str(error)) from None


def _plan(work: Work, group: RunGroup, secrets: Secrets) -> _Plan:
    """Where keys and tokens stop a push, everything is looked at before anything is sent."""
    known = _exists(work, group.group_id)
    if secrets != "stop":
        return _Plan(group, known)
    looked = look(work, group, known=known)
    return _Plan(group, known, looked.hits, looked.jobs)


def _push_group(work: Work, plan: _Plan, secrets: Secrets) -> PushedGroup:
    group_id = plan.group.group_id
    outcome = PushedGroup(group_id)
    group = work.client.group_put(group_id, safe_group(plan.group.facts, secrets).facts)
    reading = _Reading(work, plan.group, outcome, Counter(work.watch, f"pushing {group_id}", "jobs", plan.jobs))
    batches = Batches(work, group_id, known=plan.known, reread=partial(_again, plan.group, secrets))
    try:
        drawn = batches.of(reading.contents(secrets))
        for result in pool.run(drawn, batches.push, width=lambda: _AT_ONCE, cancel=work.client.cancel, ordered=True):
            if result.error is not None:
                raise result.error
            if result.value is not None:
                reading.settle(result.item, result.value)
    finally:
        batches.end()
    reading.end()
    outcome.expected = group.expected
    outcome.present = int(work.client.group(group_id).get("present") or 0)
    return outcome


@dataclass
class _Reading:
    """The jobs of a group as they are read, and what is known of them so far."""

    work: Work
    group: RunGroup
    outcome: PushedGroup
    counter: Counter
    _notes: list[str] = field(default_factory=list)

    def contents(self, secrets: Secrets) -> Iterator[JobContent]:
        """Every job once, read; what cannot be read or is there twice is rejected."""
        seen: set[str] = set()
        for job in self.group.jobs():
            if self.work.client.cancel.is_set():
                raise Cancelled
            if isinstance(job, Rejected):
                self.outcome.rejected.append(job)
                continue
            job_id = job_id_of(self.group.group_id, job)
            if job_id in seen:
                self._reject(job, f"another job of the run has the same trial {job.facts.trial_key!r}")
                continue
            seen.add(job_id)
            self._notes += [f"{job.location}: {note}" for note in job.notes]
            try:
                yield read(self.group, job, secrets)
            except LocalError as error:
                self._reject(job, str(error))
                self.counter.step("failed", job.location)

    def settle(self, batch: Batch, sent: Sent) -> None:
        """Count what became of a batch."""
        self.outcome.count(sent.states)
        self.outcome.rejected += sent.rejected
        self.counter.step("pushed", batch.contents[-1].job.location, by=len(batch.contents))

    def end(self) -> None:
        """All are read: say what the reader had to say."""
        self.counter.end("pushed")
        for note in islice(self._notes, _NOTES_SHOWN):
            self.work.watch(Warned(note))
        if len(self._notes) > _NOTES_SHOWN:
            self.work.watch(Warned(f"… and {len(self._notes) - _NOTES_SHOWN} more of these (-v shows all)"))
        for note in islice(self._notes, _NOTES_SHOWN, None):
            self.work.watch(Traced(note))

    def _reject(self, job: RunJob, reason: str) -> None:
        self.outcome.rejected.append(Rejected(job.location, reason))


def _again(group: RunGroup, secrets: Secrets, job: RunJob) -> JobContent:
    return read(group, job, secrets)


def _exists(work: Work, group_id: str) -> bool:
    try:
        work.client.group(group_id)
    except NotFound:
        return False
    return True
