"""The work of analysing a group: jobs without a verdict on what they hold are judged, then the group's report is counted anew.

What is done shows in the rows, so a worker that takes over goes on where the other one was killed, at most some hundred jobs back.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import structlog

from benchloop_analysis.group import GroupFold
from benchloop_analysis.group_records import GroupFacts
from benchloop_analysis.markdown_group import group_markdown
from benchloop_analysis.rsi_group import group_rsi, group_rsi_markdown
from benchloop_analysis.ruleset import BadRules
from benchloop_client.contract.outcome import outcome
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.asked import Asked, Judged, Kept, Task
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.features.analysis.handing import Errand, answered, observation_of
from benchloop_server.features.analysis.judging import PROGRAM, packed, rules_of, unpacked
from benchloop_server.features.analysis.repository import NewVerdict
from benchloop_server.features.analysis.rows import asked_of, has_passed
from benchloop_server.features.analysis.service import KIND
from benchloop_server.kit.db import Connection, Row
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Item, Run, WorkFailed
from benchloop_server.sql import work
from benchloop_server.sql.work import Wish, enqueue

#: Jobs that are read at a time, and kept in one transaction.
_PAGE, _COMMIT = 512, 200
#: How often a look is taken at what another worker does.
_LOOK_SECONDS = 0.5
#: The work of asking a judge about a group (`opinions`), and the argument of a report's work that says that this was done.
OPINE, AFTER_OPINIONS = "opine", "after_opinions"
_OPINE_RANK = 15
_log = structlog.get_logger("benchloop_server.work")


def analyse(services: Services, run: Run) -> None:
    """Analyse the group that is the key of the work. Done twice it finds nothing to do."""
    try:
        rules_of(services.rules.texts)
    except BadRules as error:
        raise WorkFailed(f"the rules cannot be used: {error}") from None
    began = time.monotonic()
    done = judge_group(services, run, run.item.key)
    seconds = time.monotonic() - began
    _report(services, run)
    _log.info(
        "analysed", group=run.item.key, jobs=done, seconds=round(seconds, 2), report_seconds=round(time.monotonic() - began - seconds, 2)
    )


def judge_group(services: Services, run: Run, group_id: str) -> int:
    """Judge every job of the group that has to be judged; returns how many were. For any work that needs verdicts."""
    done = 0
    for verdicts in in_batches(_judged(services, run, group_id)):
        done += run.commit(partial(_keep, services, run, verdicts=verdicts))
    return done


def ensure_judged(services: Services, run: Run, group_id: str) -> None:
    """Return when the jobs of the group have their verdicts. Where no other worker is at it, they are judged here."""
    workspace_id = run.item.workspace_id
    while True:
        with services.db.read() as connection:
            if not repository.has_to_do(connection, workspace_id, group_id):
                return
            standing = work.standing(connection, workspace_id, KIND, keys=[group_id]).get(group_id)
        if standing is None or standing.state != "claimed":
            judge_group(services, run, group_id)
            return
        run.check()
        time.sleep(_LOOK_SECONDS)


def _keep(services: Services, run: Run, connection: Connection, *, verdicts: list[NewVerdict]) -> int:
    now = services.clock()
    return repository.keep(connection, run.item.workspace_id, verdicts, rules_digest=services.rules.digest, now=now)


def gave_up(connection: Connection, item: Item, _sentence: str) -> None:
    """Who waits for this may ask again."""
    repository.end_requests(connection, item.workspace_id, item.key, failed=True)


# ---- jobs ---------------------------------------------------------------------------------------------------------------------------


def _judged(services: Services, run: Run, group_id: str) -> Iterator[NewVerdict]:
    """Every job that has to be judged, judged."""
    with services.db.read() as connection:
        total = repository.count_to_do(connection, run.item.workspace_id, group_id)
    if not total:
        return
    errand = Errand(PROGRAM, lambda jobs: msgspec.msgpack.encode(Task(rules=services.rules.texts, jobs=jobs)))
    for done, (asked, judged) in enumerate(answered(services, run, errand, _asked(services, run, group_id)), 1):
        yield verdict_of(asked, judged)
        run.progress(min(done, total), max(done, total))


def verdict_of(asked: Asked, judged: Judged) -> NewVerdict:
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
        tier=judged.tier,
        kept=judged.kept,
        shown=judged.shown,
        error=judged.error,
        observation=observation_of(asked, judged),
    )


def _asked(services: Services, run: Run, group_id: str) -> Iterator[Asked]:
    """The jobs to be judged, and those failed attempts at the same tasks about which the new ones may say something, in pages."""
    workspace_id = run.item.workspace_id
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
            rows = [*rows, *(row for ids in in_batches(again) for row in repository.by_ids(connection, workspace_id, ids))]
        for row in sorted(rows, key=_passed_first):
            yield asked_of(row, group_id, attempts)


def _again(rows: Iterable[Row[Any]], attempts: Attempts) -> Iterator[str]:
    for row in rows:
        key = (row.task_id, row.step)
        if not attempts.many(key) and attempts.context(key, row.job_id, steps=row.n_steps) != row.context:
            yield row.job_id


def _passed_first(row: Row[Any]) -> tuple[str, int, bool, int]:
    step = -1 if row.step is None else row.step
    return row.task_id, step, not has_passed(row), row.created_at


def in_batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    """As many as are kept in one transaction."""
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
        if kept.opinion is not None:
            fold.add_opinion(kept.opinion, paid=0.0)
    unsure = _count_opinions(services, run, fold)
    report = fold.report(present=group.present)
    weak = group_rsi(fold, report)
    text = {"report": report, "markdown": group_markdown(report), "rsi": weak, "rsi_markdown": group_rsi_markdown(weak)}
    shown = packed(text)

    def keep(connection: Connection) -> None:
        digest, now = services.rules.digest, services.clock()
        repository.keep_report(connection, workspace_id, group_id, shown=shown, rules_digest=digest, now=now)
        repository.end_requests(connection, workspace_id, group_id, failed=False)
        if unsure:
            wish = Wish(workspace_id=workspace_id, kind=OPINE, key=group_id, rank=_OPINE_RANK)
            enqueue(connection, wish, now=now)

    run.commit(keep)


def _count_opinions(services: Services, run: Run, fold: GroupFold) -> bool:
    """Add what a judge cost and, once it was asked about all it could be, for how many jobs it could not. Answers whether to ask it now."""
    judging, workspace_id, group_id = services.judging, run.item.workspace_id, run.item.key
    with services.db.read() as connection:
        fold.add_cost(repository.paid(connection, workspace_id, group_id))
        digest = None if judging is None else judging.digest
        unsure = 0 if digest is None else repository.count_unsure(connection, workspace_id, group_id, judge_digest=digest)
    if not run.item.args.get(AFTER_OPINIONS):
        return unsure > 0
    for _ in range(unsure):
        fold.add_opinion(None, paid=0.0)
    return False


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
