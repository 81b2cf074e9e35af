"""The work of asking a judge about the verdicts of a group that the rules are not sure of.

Every answer is kept, and paid for, by itself: a worker that is killed costs the answers that were under way, and no more. These are counted
as if they had cost the most they can, so the cap holds whatever happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillAsking
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from benchloop_analysis import judge_chat
from benchloop_analysis.judge import Answer, Judge, Question, refined
from benchloop_analysis.judge_vote import Votes, consult
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.asked import Asked, Judged
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.features.analysis.judging import Desk, rules_of
from benchloop_server.features.analysis.repository import NewVerdict
from benchloop_server.features.analysis.rows import asked_of
from benchloop_server.features.analysis.work import AFTER_OPINIONS, verdict_of
from benchloop_server.kit.db import Connection
from benchloop_server.kit.judging import JudgeError, Judging
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Run, WorkFailed
from benchloop_server.sql.work import Wish, enqueue

#: Jobs that are asked about at the same time, read at a time, and kept in one transaction.
_AT_ONCE, _PAGE, _COMMIT = 4, 128, 16
_LOOK_SECONDS = 0.3
_log = structlog.get_logger("benchloop_server.work")


def opine(services: Services, run: Run) -> None:
    """Ask about every job of the group of which the rules are not sure, until the cap is reached. Done twice it finds nothing to ask."""
    judging = services.judging
    if judging is None or judging.endpoint is None:
        return
    done, failure = 0, None
    waiting: list[NewVerdict] = []
    try:
        for verdict in _opinions(services, run, judging, judging.endpoint):
            waiting.append(verdict)
            if len(waiting) >= _COMMIT:
                done += _keep(services, run, judging, waiting)
    except JudgeError as error:
        failure = error
    done += _keep(services, run, judging, waiting)
    run.commit(partial(_report_again, services, run))
    _log.info("opined", group=run.item.key, jobs=done, failed=None if failure is None else str(failure))
    if failure is not None:
        raise WorkFailed(str(failure)) if failure.for_good else failure


def _keep(services: Services, run: Run, judging: Judging, found: list[NewVerdict]) -> int:
    def keep(connection: Connection) -> int:
        now = services.clock()
        return repository.keep_opinions(connection, run.item.workspace_id, found, judge_digest=judging.digest, now=now)

    kept = run.commit(keep) if found else 0
    found.clear()
    return kept


def _report_again(services: Services, run: Run, connection: Connection) -> None:
    """Have the group's report counted anew, where opinions changed something or are missing."""
    workspace_id, group_id = run.item.workspace_id, run.item.key
    judging = services.judging
    left = judging is not None and repository.count_unsure(connection, workspace_id, group_id, judge_digest=judging.digest) > 0
    if left or repository.report_is_older(connection, workspace_id, group_id):
        wish = Wish(workspace_id=workspace_id, kind="analyse", key=group_id, args={AFTER_OPINIONS: True})
        enqueue(connection, wish, now=services.clock())


# ---- asking -------------------------------------------------------------------------------------------------------------------------


def _opinions(services: Services, run: Run, judging: Judging, endpoint: Judge) -> Iterator[NewVerdict]:
    """The jobs that were asked about, in order; ends where the cap is reached. Raises `JudgeError` where the endpoint fails."""
    desk = Desk(services.blobs, rules_of(services.rules.texts))
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="judge")
    waiting: deque[tuple[Asked, Future[Judged | None]]] = deque()
    try:
        for asked in _asked(services, run, judging):
            ledger = Ledger(services, run.item.workspace_id, asked.job_id, judging, endpoint)
            waiting.append((asked, pool.submit(_opined, desk, asked, ledger)))
            if len(waiting) < 2 * _AT_ONCE:
                continue
            verdict = _next(run, waiting)
            if verdict is None:
                return
            yield verdict
        while waiting:
            verdict = _next(run, waiting)
            if verdict is None:
                return
            yield verdict
    finally:
        # Questions that are under way are answered behind our back: what was paid for is kept.
        pool.shutdown(wait=False, cancel_futures=True)


def _next(run: Run, waiting: deque[tuple[Asked, Future[Judged | None]]]) -> NewVerdict | None:
    """The next job in order; None where there was no budget left for it."""
    asked, future = waiting.popleft()
    while True:
        run.check()
        try:
            judged = future.result(_LOOK_SECONDS)
        except StillAsking:
            continue
        return None if judged is None else verdict_of(asked, judged)


def _opined(desk: Desk, asked: Asked, ledger: Ledger) -> Judged | None:
    """The job with an opinion; without texts where nobody has to be asked, None where there is no budget left."""
    try:
        analysis = desk.analysed(asked)
        found = consult(analysis, asked.facts, desk.rules, judge=ledger, votes=ledger.votes)
        if found is None:
            return Judged(job_id=asked.job_id)
        if found.opinion is None:
            return None
        return desk.told(asked, refined(analysis, found.opinion, found.question.menu), found.opinion)
    except JudgeError:
        raise
    except Exception:  # noqa: BLE001 - one job that cannot be asked about keeps its verdict, and stops no other
        _log.warning("opinion_failed", job=asked.job_id, exc_info=True)
        return Judged(job_id=asked.job_id)


def _asked(services: Services, run: Run, judging: Judging) -> Iterator[Asked]:
    workspace_id, group_id = run.item.workspace_id, run.item.key
    after: tuple[str, str] | None = None
    while True:
        with services.db.read() as connection:
            rows = repository.page_unsure(connection, workspace_id, group_id, judge_digest=judging.digest, after=after, limit=_PAGE)
            tasks = {row.task_id for row in rows}
            attempts = Attempts(
                repository.lengths(connection, workspace_id, group_id, task_ids=tasks),
                repository.first_passed(connection, workspace_id, group_id, task_ids=tasks),
            )
        for row in rows:
            yield asked_of(row, group_id, attempts)
        if not rows:
            return
        after = rows[-1].task_id, rows[-1].job_id


@dataclass(frozen=True, slots=True)
class Ledger:
    """A judge that remembers its answers and never passes the cap. Safe between threads."""

    services: Services
    workspace_id: str
    job_id: str
    judging: Judging
    endpoint: Judge

    @property
    def model(self) -> str:
        """The model's name."""
        return self.judging.model

    @property
    def votes(self) -> Votes:
        """How many answers it takes."""
        return Votes(samples=self.judging.samples, agree=self.judging.agree)

    def ask(self, question: Question) -> Answer | None:
        """The answer; None where it could cost more than is left. Raises `JudgeError`."""
        with self.services.db.read() as connection:
            row = repository.answer(connection, self.workspace_id, question.key)
        if row is not None:
            return Answer(**row._mapping, cached=True)
        most = judge_chat.at_most(question, self.judging.price)
        with self.services.db.write() as connection:
            if not repository.spend(connection, most, cap=self.judging.cap):
                return None
        try:
            answer = self.endpoint.ask(question)
        except JudgeError as error:
            if not error.paid:
                with self.services.db.write() as connection:
                    repository.spend(connection, -most)
            raise
        if answer is not None:
            self._keep(question, answer, most)
        return answer

    def _keep(self, question: Question, answer: Answer, most: float) -> None:
        told: dict[str, Any] = {name: getattr(answer, name) for name in ("text", "prompt_tokens", "completion_tokens", "cost_usd")}
        about = {"workspace_id": self.workspace_id, "job_id": self.job_id, "question_key": question.key, "model": question.model}
        with self.services.db.write() as connection:
            repository.keep_answer(connection, {**about, **told, "asked_at": self.services.clock()})
            repository.spend(connection, (answer.cost_usd or 0.0) - most)
