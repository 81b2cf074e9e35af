"""Uploads a run: what is new or changed and nothing else, a batch of jobs at a time, each job whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchloop_client.actions.events import Counter, Traced, Warned
from benchloop_client.actions.push_jobs import Built, Prepared, Secrets, build, job_id_of, prepare, safe_group
from benchloop_client.actions.push_uploads import send
from benchloop_client.actions.report import Report
from benchloop_client.actions.spool import Spool
from benchloop_client.actions.work import Work
from benchloop_client.contract.ids import MINTED
from benchloop_client.contract.resources import Fingerprint, JobsCheck, JobState, JobsUpsert
from benchloop_client.errors import ApiError, LocalError, NotFound, UsageError
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, Rejected, Run, RunGroup, RunJob, UnreadableRun

__all__ = ["Pushed", "PushedGroup", "Request", "Secrets", "SecretsFound", "as_json", "push"]

#: Jobs a batch, and bytes of their files at which a batch ends earlier.
BATCH_JOBS = 200
BATCH_BYTES = 64 << 20
_HITS_SHOWN = 50
_NOTES_SHOWN = 20
#: Statuses that mean that one of the jobs of a batch cannot be taken, as against a server that cannot take anything.
_ABOUT_ONE = frozenset({400, 409, 413, 422})


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
    run = _opened(request)
    plans = [_plan(work, group, request.secrets) for group in run.groups]
    hits = [hit for plan in plans for hit in plan.hits]
    if hits and request.secrets == "stop":
        raise SecretsFound(hits)
    return Pushed(tuple(_push_group(work, plan, request.secrets) for plan in plans), Report(len(plans)))


@dataclass
class _Plan:
    """What a look at every job of a group found: which have to be sent, which are there, which cannot be, and the keys and tokens."""

    group: RunGroup
    outcome: PushedGroup
    changed: set[str] = field(default_factory=set)
    hits: list[str] = field(default_factory=list)


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
    """Read everything once, to know what changed and whether there are secrets in it; nothing is sent."""
    plan = _Plan(group, PushedGroup(group.group_id))
    known = _exists(work, group.group_id)
    counter = Counter(work.watch, f"reading {group.group_id}", "jobs", None)
    seen: set[str] = set()
    plan.hits += [str(hit) for hit in safe_group(group.facts, secrets).hits]
    notes: list[str] = []
    for batch in _batches(_jobs(plan, seen, notes)):
        prepared: list[Prepared] = []
        for result in work.results(batch, lambda job: prepare(group, job, secrets), ordered=True):
            counter.step("failed" if result.error else "read", result.item.location)
            if result.error is not None:
                plan.outcome.rejected.append(Rejected(result.item.location, str(result.error)))
            elif result.value is not None:
                prepared.append(result.value)
        _sort_out(work, plan, prepared, known=known)
    counter.end("read")
    _tell(work, notes)
    return plan


def _jobs(plan: _Plan, seen: set[str], notes: list[str]) -> Iterator[RunJob]:
    """The jobs of the plan's group; what the reader rejects, and what is there twice, goes to the outcome."""
    for job in plan.group.jobs():
        if isinstance(job, Rejected):
            plan.outcome.rejected.append(job)
            continue
        job_id = job_id_of(plan.group.group_id, job)
        if job_id in seen:
            plan.outcome.rejected.append(Rejected(job.location, f"another job of the run has the same trial {job.facts.trial_key!r}"))
            continue
        seen.add(job_id)
        notes += [f"{job.location}: {note}" for note in job.notes]
        yield job


def _sort_out(work: Work, plan: _Plan, prepared: list[Prepared], *, known: bool) -> None:
    """Ask the server which of these jobs it has, and keep what is to be done for the others."""
    states = _states(work, plan, prepared) if known else {}
    for job in prepared:
        state = states.get(job.job_id, "new")
        if state == "unchanged":
            plan.outcome.unchanged += 1
        elif state != "refused":
            plan.changed.add(job.job_id)
            plan.hits += [f"{job.location}/{hit.path}:{hit.line} {hit.kind}" for hit in job.hits]


def _states(work: Work, plan: _Plan, prepared: list[Prepared]) -> dict[str, str]:
    """State of each job; `refused` for one whose id belongs to another group."""
    if not prepared:
        return {}
    asked = JobsCheck(jobs=[Fingerprint(job_id=job.job_id, fingerprint=job.fingerprint) for job in prepared])
    try:
        return {result.job_id: result.state for result in work.client.jobs_check(plan.group.group_id, asked).results}
    except ApiError as error:
        if error.status not in _ABOUT_ONE:
            raise
        if len(prepared) == 1:
            plan.outcome.rejected.append(Rejected(prepared[0].location, error.detail))
            return {prepared[0].job_id: "refused"}
    middle = len(prepared) // 2
    return _states(work, plan, prepared[:middle]) | _states(work, plan, prepared[middle:])


def _push_group(work: Work, plan: _Plan, secrets: Secrets) -> PushedGroup:
    outcome, group_id = plan.outcome, plan.group.group_id
    group = work.client.group_put(group_id, safe_group(plan.group.facts, secrets).facts)
    counter = Counter(work.watch, f"pushing {group_id}", "jobs", len(plan.changed))
    wanted = (job for job in plan.group.jobs() if isinstance(job, RunJob) and job_id_of(group_id, job) in plan.changed)
    for batch in _batches(_first_ones(group_id, wanted)):
        with Spool() as spool:
            built = _built(work, plan, batch, _Packing(secrets, spool))
            _commit(work, plan, built, counter)
    outcome.expected = group.expected
    outcome.present = int(work.client.group(group_id).get("present") or 0)
    return outcome


@dataclass(frozen=True, slots=True)
class _Packing:
    """How jobs are packed: what happens to secrets, and where the packed bytes lie."""

    secrets: Secrets
    spool: Spool


def _built(work: Work, plan: _Plan, batch: Sequence[RunJob], packing: _Packing) -> list[Built]:
    built: list[Built] = []
    for result in work.results(batch, lambda job: build(plan.group, job, packing.secrets, packing.spool), ordered=True):
        if result.error is not None:
            plan.outcome.rejected.append(Rejected(result.item.location, str(result.error)))
        elif result.value is not None:
            built.append(result.value)
    return built


def _commit(work: Work, plan: _Plan, built: list[Built], counter: Counter) -> None:
    """Send what the server lacks of a batch, then the jobs themselves."""
    refused = send(work, [upload for job in built for upload in job.uploads])
    good: list[Built] = []
    for job in built:
        error = next((refused[upload.sha256] for upload in job.uploads if upload.sha256 in refused), None)
        if error is None:
            good.append(job)
        else:
            plan.outcome.rejected.append(Rejected(job.location, str(error)))
    _put(work, plan, good)
    for job in built:
        counter.step("pushed", job.location)


def _put(work: Work, plan: _Plan, jobs: list[Built]) -> None:
    """Commit jobs together; where one of them is refused, find out which by halves and go on with the others."""
    if not jobs:
        return
    try:
        answer = work.client.jobs_put(plan.group.group_id, JobsUpsert(jobs=[job.upsert for job in jobs]))
    except ApiError as error:
        if error.status not in _ABOUT_ONE:
            raise
        if len(jobs) == 1:
            plan.outcome.rejected.append(Rejected(jobs[0].location, error.detail))
            return
        middle = len(jobs) // 2
        _put(work, plan, jobs[:middle])
        _put(work, plan, jobs[middle:])
        return
    plan.outcome.count(answer.results)


def _exists(work: Work, group_id: str) -> bool:
    try:
        work.client.group(group_id)
    except NotFound:
        return False
    return True


def _batches(jobs: Iterable[RunJob]) -> Iterator[list[RunJob]]:
    """The jobs in batches that are bounded in number and in the bytes of their files."""
    batch: list[RunJob] = []
    size = 0
    for job in jobs:
        batch.append(job)
        size += sum(file.size for file in job.files)
        if len(batch) >= BATCH_JOBS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _first_ones(group_id: str, jobs: Iterable[RunJob]) -> Iterator[RunJob]:
    """Each job once, as in the plan."""
    seen: set[str] = set()
    for job in jobs:
        job_id = job_id_of(group_id, job)
        if job_id not in seen:
            seen.add(job_id)
            yield job


def _tell(work: Work, notes: Sequence[str]) -> None:
    for note in islice(notes, _NOTES_SHOWN):
        work.watch(Warned(note))
    if len(notes) > _NOTES_SHOWN:
        work.watch(Warned(f"… and {len(notes) - _NOTES_SHOWN} more of these (-v shows all)"))
    for note in islice(notes, _NOTES_SHOWN, None):
        work.watch(Traced(note))
