"""Asking a judge about behaviour that rules cannot see: some jobs of a sample, each answer kept and paid for by itself, within the cap.

An answer is named by what was asked, so that a worker that takes over pays for nothing that is there. A judge that fails costs a study its
opinions and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import structlog

from benchloop_analysis.behaviours import judged
from benchloop_analysis.behaviours.records import Features
from benchloop_analysis.brm.conduct import Frozen, Job, judged_patterns
from benchloop_analysis.case import Case
from benchloop_analysis.judge import Judge
from benchloop_analysis.ruleset import default
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.features.analysis.judging import Desk
from benchloop_server.features.analysis.opinions import Ledger
from benchloop_server.features.analysis.rows import asked_of
from benchloop_server.kit.judging import JudgeError
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Run

_PAGE = 128
_NO_OTHERS = Attempts((), ())
_log = structlog.get_logger("benchloop_server.work")


class Told(msgspec.Struct, kw_only=True):
    """What came of it. Of `wanted` jobs, `asked` were answered about; `unasked`: the budget was used up; `unread`: gone, changed
    or without a step; `unusable`: answers of another form; `refused`: "yes" without true quotes. `cost_usd` is of all these answers, with
    those that were paid before; None where one is not known. `failure`: why no more were asked about. `patterns` are as in E34.
    """

    model: str
    prompt_version: int
    wanted: int
    asked: int = 0
    unasked: int = 0
    unread: int = 0
    refused: int = 0
    unusable: int = 0
    cost_usd: float | None = 0.0
    failure: str | None = None
    patterns: list[dict[str, Any]] = []


def is_on(services: Services) -> bool:
    """Whether this worker asks about behaviour."""
    judging = services.judging
    return judging is not None and judging.endpoint is not None and judging.behaviours > 0


def opinions(services: Services, run: Run, sample: Frozen) -> Told:
    """Ask about some jobs of the sample. Only where `is_on`."""
    judging = services.judging
    if judging is None or judging.endpoint is None:
        raise RuntimeError("nobody to ask")
    chosen = chosen_of(sample.jobs, most=judging.behaviours, seed=sample.seed)
    told = Told(model=judging.model, prompt_version=judged.PROMPT_VERSION, wanted=len(chosen))
    found: list[tuple[Job, Features]] = []
    try:
        for job, case in _cases(services, run, chosen):
            features = _asked(Ledger(services, run.item.workspace_id, job.job_id, judging, judging.endpoint), case, told)
            if features is not None:
                found.append((job, features))
    except JudgeError as error:
        told.failure = str(error)
    told.patterns = msgspec.to_builtins(judged_patterns(found, seed=sample.seed))
    _log.info("asked_about_behaviour", task=run.item.key, asked=told.asked, wanted=told.wanted, failed=told.failure)
    return told


def chosen_of(jobs: Sequence[Job], *, most: int, seed: int) -> list[Job]:
    """At most `most` jobs: whole tasks as far as they fit, those with unequal rewards first, by lot."""
    tasks: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: (job.task_id, job.job_id)):
        tasks.setdefault(job.task_id, []).append(job)
    lots = list(tasks.values())
    random.Random(seed).shuffle(lots)
    lots.sort(key=lambda attempts: not _is_mixed(attempts))
    chosen: list[Job] = []
    for attempts in lots:
        if len(chosen) + len(attempts) <= most:
            chosen += attempts
    return chosen or (lots[0][:most] if lots else [])


def beside(answer: dict[str, Any], told: Told, *, limit: int) -> dict[str, Any]:
    """The result with the opinions after its own patterns, at most `limit` in all and half of them opinions; and with what was asked."""
    opinions = told.patterns[: limit // 2]
    own = answer["behaviorPatterns"][: limit - len(opinions)]
    plain = {name: value for name, value in msgspec.to_builtins(told).items() if name != "patterns"}
    sentence = _sentence(told)
    summary = answer["summaryData"]
    markdown = f"{summary['markdown'].rstrip()}\n\n{sentence}\n"
    warned = [*summary["warnings"], *([sentence] if told.asked < told.wanted else [])]
    return {
        **answer,
        "summary": markdown,
        "summaryData": {**summary, "markdown": markdown, "warnings": warned},
        "behaviorPatterns": [*own, *opinions],
        "patternsTotal": answer["patternsTotal"] + len(told.patterns),
        "provenance": {**answer["provenance"], "llm": told.model, "judged": plain},
    }


def _sentence(told: Told) -> str:
    reasons = {"the budget was used up": told.unasked, "they changed or could not be read": told.unread}
    parts = [f"{count:,} were left out as {why}" for why, count in reasons.items() if count]
    if told.failure is not None:
        parts.append(told.failure)
    why = f" ({'; '.join(parts)})" if parts else ""
    cost = "not known" if told.cost_usd is None else f"{told.cost_usd:.4f} USD"
    said = f"answered about {told.asked:,} of {told.wanted:,} jobs{why}"
    return f"A model was asked about behaviour that rules cannot see, and {said}. Cost: {cost}."


def _is_mixed(attempts: Iterable[Job]) -> bool:
    return len({job.reward for job in attempts if job.reward is not None and job.reward_valid is not False}) > 1


class _Named:
    """A judge whose questions about behaviour are told from those about verdicts by their key."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def model(self) -> str:
        """The model's name."""
        return self._ledger.model

    def ask(self, question: Any) -> Any:
        """See `Ledger`."""
        return self._ledger.ask(msgspec.structs.replace(question, key=f"{repository.BEHAVIOUR}{question.key}"))


def _asked(ledger: Ledger, case: Case | None, told: Told) -> Features | None:
    """What is believed about one job; counted in `told`. Raises `JudgeError`."""
    judge: Judge = _Named(ledger)
    question = None if case is None else judged.question(case, judge.model)
    if case is None or question is None:
        told.unread += 1
        return None
    answer = judge.ask(question)
    if answer is None:
        told.unasked += 1
        return None
    told.asked += 1
    told.cost_usd = None if told.cost_usd is None or answer.cost_usd is None else told.cost_usd + answer.cost_usd
    said = judged.believed(answer, case)
    told.refused += said.refused
    told.unusable += said.features is None
    return said.features


def _cases(services: Services, run: Run, chosen: Sequence[Job]) -> Iterator[tuple[Job, Case | None]]:
    """The jobs with what they hold; None for one that is gone, is another than was drawn, or cannot be read."""
    desk = Desk(services.blobs, default())
    for at in range(0, len(chosen), _PAGE):
        page = chosen[at : at + _PAGE]
        with services.db.read() as connection:
            rows = {row.job_id: row for row in repository.by_ids(connection, run.item.workspace_id, [job.job_id for job in page])}
        for job in page:
            run.check()
            row = rows.get(job.job_id)
            yield job, _case(desk, row) if row is not None and row.fingerprint == job.fingerprint else None


def _case(desk: Desk, row: Any) -> Case | None:
    try:
        return desk.case(asked_of(row, "", _NO_OTHERS))
    except Exception:  # noqa: BLE001 - one job that cannot be read is counted, and stops no other
        _log.warning("unread", job=row.job_id, exc_info=True)
        return None
