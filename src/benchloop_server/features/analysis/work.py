"""The work of analysing a group: jobs without a verdict on what they hold are judged, then the group's report is counted anew.

What is done shows in the rows, so a worker that takes over goes on where the other one was killed, at most some hundred jobs back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import structlog

from benchloop_analysis.group import GroupFold
from benchloop_analysis.group_records import GroupFacts
from benchloop_analysis.markdown_group import group_markdown
from benchloop_analysis.records import Facts
from benchloop_analysis.rsi_group import group_rsi, group_rsi_markdown
from benchloop_analysis.ruleset import BadRules
from benchloop_client.contract.outcome import outcome
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.asked import Archive, Asked, Judged, Kept, Task
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.features.analysis.judging import PROGRAM, packed, rules_of, unpacked
from benchloop_server.features.analysis.repository import NewVerdict
from benchloop_server.kit.clock import format_optional
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.services import Services
from benchloop_server.kit.verified import Place
from benchloop_server.kit.work import Item, Run, WorkFailed

#: Jobs that are read at a time, handed to a process at a time, and kept in one transaction.
_PAGE, _TASK, _COMMIT = 512, 64, 200
#: Bytes of stored trajectories that are handed to a process at a time: about a second's work.
_TASK_BYTES = 1 << 20
_log = structlog.get_logger("benchloop_server.work")


def analyse(services: Services, run: Run) -> None:
    """Analyse the group that is the key of the work. Done twice it finds nothing to do."""
    try:
        rules_of(services.rules.texts)
    except BadRules as error:
        raise WorkFailed(f"the rules cannot be used: {error}") from None
    began, done = time.monotonic(), 0
    for verdicts in _in_batches(_judged(services, run)):
        done += run.commit(partial(_keep, services, run, verdicts=verdicts))
    seconds = time.monotonic() - began
    _report(services, run)
    _log.info(
        "analysed", group=run.item.key, jobs=done, seconds=round(seconds, 2), report_seconds=round(time.monotonic() - began - seconds, 2)
    )


def _keep(services: Services, run: Run, connection: Connection, *, verdicts: list[NewVerdict]) -> int:
    now = services.clock()
    return repository.keep(connection, run.item.workspace_id, verdicts, rules_digest=services.rules.digest, now=now)


def gave_up(connection: Connection, item: Item, _sentence: str) -> None:
    """Who waits for this may ask again."""
    repository.end_requests(connection, item.workspace_id, item.key, failed=True)


# ---- jobs ---------------------------------------------------------------------------------------------------------------------------


def _judged(services: Services, run: Run) -> Iterator[NewVerdict]:
    """Every job that has to be judged, judged."""
    with services.db.read() as connection:
        total = repository.count_to_do(connection, run.item.workspace_id, run.item.key)
    if not total:
        return
    waiting: list[tuple[Asked, ...]] = []

    def tasks() -> Iterator[bytes]:
        for jobs in _portions(_asked(services, run)):
            waiting.append(jobs)
            yield _packed(services, jobs)

    done = 0
    for answer in services.hands.each(PROGRAM, tasks(), blobs=services.blobs, waiting=run.check):
        jobs = waiting.pop(0)
        found = _answers(answer) if answer is not None else _one_by_one(services, run, jobs)
        yield from map(_verdict, jobs, found)
        done += len(jobs)
        run.progress(min(done, total), max(done, total))


def _one_by_one(services: Services, run: Run, jobs: Sequence[Asked]) -> Iterator[Judged]:
    """A process died over these jobs: each by itself, so that the one that kills it stops no other."""
    tasks = (_packed(services, (asked,)) for asked in jobs)
    answers = services.hands.each(PROGRAM, tasks, blobs=services.blobs, waiting=run.check)
    for asked, answer in zip(jobs, answers, strict=True):
        if answer is None:
            _log.error("analysis_died", job=asked.job_id)
            yield Judged(job_id=asked.job_id, error="the process that analysed it died, perhaps for lack of memory")
        else:
            yield from _answers(answer)


def _packed(services: Services, jobs: tuple[Asked, ...]) -> bytes:
    return msgspec.msgpack.encode(Task(rules=services.rules.texts, jobs=jobs))


def _answers(answer: bytes) -> list[Judged]:
    return msgspec.msgpack.decode(answer, type=list[Judged])


def _verdict(asked: Asked, judged: Judged) -> NewVerdict:
    """What the source recorded about the reward stands; where it says nothing, the analysis does."""
    facts = asked.facts
    valid = facts.reward_valid if facts.reward_valid is not None else judged.reward_valid
    return NewVerdict(
        job_id=asked.job_id,
        fingerprint=asked.fingerprint,
        context=asked.context,
        fail_reason=judged.fail_reason,
        sub_fail_reason=judged.sub_fail_reason,
        reward_valid=valid,
        outcome=outcome(status=facts.status, reward=facts.reward, reward_valid=valid, error_type=facts.error_type),
        kept=judged.kept,
        shown=judged.shown,
        error=judged.error,
    )


def _asked(services: Services, run: Run) -> Iterator[Asked]:
    """The jobs to be judged, and those failed attempts at the same tasks about which the new ones may say something, in pages."""
    workspace_id, group_id = run.item.workspace_id, run.item.key
    after: tuple[str, str] | None = None
    while True:
        with services.db.read() as connection:
            rows = repository.page_to_do(connection, workspace_id, group_id, after=after, limit=_PAGE)
            if not rows:
                return
            after = rows[-1].task_id, rows[-1].job_id
            tasks = {row.task_id for row in rows}
            attempts = Attempts(
                repository.lengths(connection, workspace_id, group_id, task_ids=tasks),
                repository.first_passed(connection, workspace_id, group_id, task_ids=tasks),
            )
            again = _again(repository.judged_failures(connection, workspace_id, group_id, task_ids=tasks), attempts)
            rows = [*rows, *(row for ids in _in_batches(again) for row in repository.by_ids(connection, workspace_id, ids))]
        for row in sorted(rows, key=_passed_first):
            yield _asked_of(row, group_id, attempts)


def _again(rows: Iterable[Row[Any]], attempts: Attempts) -> Iterator[str]:
    for row in rows:
        key = (row.task_id, row.step)
        if not attempts.many(key) and attempts.context(key, row.job_id, steps=row.n_steps) != row.context:
            yield row.job_id


def _passed_first(row: Row[Any]) -> tuple[str, int, bool, int]:
    step = -1 if row.step is None else row.step
    return row.task_id, step, not _has_passed(row), row.created_at


def _has_passed(row: Row[Any]) -> bool:
    return row.reward is not None and row.reward >= 1 and row.reward_valid_recorded is not False


def _asked_of(row: Row[Any], group_id: str, attempts: Attempts) -> Asked:
    key = (row.task_id, row.step)
    passed = _has_passed(row)
    trajectory = _place(row, "trace") if row.trace_blob is not None else None
    archive = Archive(_place(row, "archive"), _index(row)) if row.archive_blob is not None else None
    return Asked(
        job_id=row.job_id,
        group_id=group_id,
        fingerprint=row.fingerprint,
        facts=_facts(row),
        cost_usd=row.cost_usd,
        trajectory=trajectory,
        archive=archive,
        siblings=attempts.siblings(key, steps=row.n_steps, passed=passed),
        passing=None if passed else attempts.passing(key, row.job_id),
        context=attempts.context(key, row.job_id, steps=row.n_steps),
    )


def _place(row: Row[Any], prefix: str) -> Place:
    return Place(*(getattr(row, f"{prefix}_{name}") for name in ("blob", "blob_offset", "stored_size", "stored_sha256")))


def _index(row: Row[Any]) -> Place:
    return Place(row.archive_index_blob, row.archive_index_offset, row.archive_index_size, row.archive_index_sha256)


def _facts(row: Row[Any]) -> Facts:
    """The facts as they were pushed."""
    same = ("task_id", "status", "error_type", "error_message", "reward", "reward_key", "agent", "model", "step")
    source = None if row.source_json is None else msgspec.json.decode(row.source_json)
    return msgspec.convert(
        {
            **{name: getattr(row, name) for name in same},
            "rewards": msgspec.json.decode(row.rewards_json),
            "reward_valid": row.reward_valid_recorded,
            "started_at": format_optional(row.started_at),
            "finished_at": format_optional(row.finished_at),
            "phases": msgspec.json.decode(row.phases_json),
            "format": source.get("format") if isinstance(source, dict) else None,
            "meta": msgspec.json.decode(row.meta_json),
        },
        type=Facts,
    )


def _portions(jobs: Iterable[Asked]) -> Iterator[tuple[Asked, ...]]:
    """Jobs in handfuls that are not too large."""
    portion: list[Asked] = []
    size = 0
    for asked in jobs:
        length = asked.trajectory.length if asked.trajectory is not None else 0
        if portion and (len(portion) == _TASK or size + length > _TASK_BYTES):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(asked)
        size += length
    if portion:
        yield tuple(portion)


def _in_batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, _COMMIT)):
        yield batch


# ---- the group ----------------------------------------------------------------------------------------------------------------------


def _report(services: Services, run: Run) -> None:
    """Count the group's verdicts, a page at a time, and keep its report."""
    workspace_id, group_id = run.item.workspace_id, run.item.key
    with services.db.read() as connection:
        group = repository.group(connection, workspace_id, group_id)
    if group is None:
        return
    facts = GroupFacts(group_id=group_id, name=group.name, benchmark=group.benchmark, expected=group.expected)
    fold = GroupFold(facts)
    for kept in _all_kept(services, run):
        fold.add(kept.analysis, kept.facts)
    report = fold.report(present=group.present)
    weak = group_rsi(fold, report)
    text = {"report": report, "markdown": group_markdown(report), "rsi": weak, "rsi_markdown": group_rsi_markdown(weak)}
    shown = packed(text)

    def keep(connection: Connection) -> None:
        digest, now = services.rules.digest, services.clock()
        repository.keep_report(connection, workspace_id, group_id, shown=shown, rules_digest=digest, now=now)
        repository.end_requests(connection, workspace_id, group_id, failed=False)

    run.commit(keep)


def _all_kept(services: Services, run: Run) -> Iterator[Kept]:
    after: tuple[int, str] | None = None
    while True:
        with services.db.read() as connection:
            rows = repository.counted(connection, run.item.workspace_id, run.item.key, after=after)
        for row in rows:
            yield msgspec.json.decode(unpacked(row.kept), type=Kept)
        if not rows:
            return
        after = rows[-1].created_at, rows[-1].job_id
        run.check()
