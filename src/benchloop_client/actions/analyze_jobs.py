"""One process's part of an analysis: read each job, judge it, write its reports, and pass on what the group's report needs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchloop_analysis import sources
from benchloop_analysis.case import Case
from benchloop_analysis.job_report import JobContext, JobReport, job_report
from benchloop_analysis.judge import Judge, Opinion, refined
from benchloop_analysis.judge_vote import Votes, consult
from benchloop_analysis.markdown_job import job_markdown
from benchloop_analysis.records import Facts, File, JobAnalysis, JobInput
from benchloop_analysis.rsi import job_rsi, job_rsi_markdown
from benchloop_analysis.ruleset import BadRules, RuleSet, default, load
from benchloop_analysis.siblings import Outline
from benchloop_analysis.verdict import analyse_case
from benchloop_client.actions.analyze_siblings import SiblingTable
from benchloop_client.actions.analyze_task import Seen, Task
from benchloop_client.actions.destination import in_group
from benchloop_client.actions.processes import Item
from benchloop_client.actions.push_jobs import job_id_of
from benchloop_client.errors import BenchloopError, UsageError, one_line
from benchloop_client.formats.records import Rejected, RunFile, RunGroup, RunJob
from benchloop_client.transfer import files

_PIECE = 1 << 20
#: What studies behaviour.
BRM = "benchloop_client.actions.analyze_brm"
#: The verdict as it is printed: these fields of the report, in this order.
VERDICT = (
    "job_id", "task_id", "agent", "model", "step", "outcome", "reward", "reward_valid", "fail_reason", "sub_fail_reason", "tier",
    "fault_side", "says", "evidence", "reward_evidence", "secondary", "integrity", "first_signal_step", "wasted_steps", "wasted_seconds",
    "wasted_cost_usd", "n_steps", "n_calls", "seconds", "tests", "opinion", "ruleset_version",
)  # fmt: skip


class Done(msgspec.Struct, kw_only=True):
    """One job: its verdict as a JSON object (`row`) and what is counted of it. With `error`: a job, or a part of it, that was not read.

    `paid_usd`: what a judge was paid, None where nobody had to be asked; `opinion` is then None where there was no budget left. `seen`:
    what the job did, where that is wanted.
    """

    location: str
    error: str | None = None
    row: bytes = b""
    facts: Facts | None = None
    analysis: JobAnalysis | None = None
    opinion: Opinion | None = None
    paid_usd: float | None = None
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """Who gives a second opinion, and how many answers it takes."""

    judge: Judge
    votes: Votes


def judge(task_json: bytes, second: Second | None = None) -> Iterator[Item]:
    """Judge the jobs of a share, one after another; `second` is asked for its opinion where the rules are not sure."""
    task = msgspec.json.decode(task_json, type=Task)
    judge_job = _Judge(task, second)
    for number, group in enumerate(task.open().groups):
        for count, (index, found) in enumerate(group.shared(task.share())):
            yield (number, index, count), msgspec.msgpack.encode(judge_job(number, group, found))


class _Judge:
    """Judges one job after another by the same rules."""

    def __init__(self, task: Task, second: Second | None) -> None:
        self._task, self._second = task, second
        self._rules = rules_of(task.rules)
        # Loaded only where it is wanted: what studies behaviour takes longer to load than a small run takes to judge.
        self._observe: Callable[[Case], Seen] | None = importlib.import_module(BRM).observe if task.observe else None
        self._siblings = SiblingTable(Path(task.siblings) if task.siblings is not None else None)

    def __call__(self, number: int, group: RunGroup, found: RunJob | Rejected) -> Done:
        if isinstance(found, Rejected):
            return Done(location=found.source, error=found.reason)
        try:
            return self._judged(number, group, found)
        except BenchloopError:
            raise
        except Exception as error:  # noqa: BLE001 - one job that cannot be judged is named, and stops no other
            return Done(location=found.location, error=one_line(f"{type(error).__name__}: {error}"))

    def _judged(self, number: int, group: RunGroup, job: RunJob) -> Done:
        document = job.trajectory().document if job.trajectory is not None else None
        facts = Facts.of(job.facts)
        steps = len(document["steps"]) if document is not None else None
        case = Case(
            JobInput(
                job_id=job_id_of(group.group_id, job),
                facts=facts,
                document=document,
                files=texts(job.files),
                siblings=self._siblings.siblings(number, job.facts, steps),
            )
        )
        analysis, opinion, paid = self._second_opinion(analyse_case(case, self._rules), facts)
        context = JobContext(
            group_id=group.group_id, cost_usd=job.facts.cost_usd, sibling=self._siblings.passing(number, job.facts), opinion=opinion
        )
        report = job_report(analysis, facts, context)
        if self._task.output is not None:
            self._write(Path(self._task.output), report, analysis, context.sibling)
        return Done(
            location=job.location,
            row=row_of(report),
            facts=facts,
            analysis=msgspec.structs.replace(analysis, trajectory=None),
            opinion=opinion,
            paid_usd=paid,
            seen=self._observe(case) if self._observe is not None else None,
        )

    def _second_opinion(self, analysis: JobAnalysis, facts: Facts) -> tuple[JobAnalysis, Opinion | None, float | None]:
        """The analysis as it is after the opinion, the opinion, and what was paid; None where nobody had to be asked."""
        second = self._second
        asked = None if second is None else consult(analysis, facts, self._rules, judge=second.judge, votes=second.votes)
        if asked is None:
            return analysis, None, None
        if asked.opinion is None:
            return analysis, None, asked.paid_usd
        return refined(analysis, asked.opinion, asked.question.menu), asked.opinion, asked.paid_usd

    def _write(self, root: Path, report: JobReport, analysis: JobAnalysis, sibling: Outline | None) -> None:
        def target(suffix: str) -> Path:
            return root / in_group(report.group_id or "", f"{report.job_id}{suffix}")

        files.place_bytes(target("_report.md"), _utf8(job_markdown(report)), root=root)
        files.place_json(target("_report.json"), msgspec.to_builtins(report), root=root, pretty=self._task.pretty)
        weaknesses = job_rsi(analysis, sibling)
        files.place_bytes(target("_rsi.md"), _utf8(job_rsi_markdown(weaknesses)), root=root)


def rules_of(rules: Sequence[tuple[str, str]]) -> RuleSet:
    """The built-in rules and those of these texts. Raises `UsageError` for a rule file that cannot be used, naming file and line."""
    try:
        return load(rules) if rules else default()
    except BadRules as error:
        raise UsageError(str(error)) from None


def row_of(report: JobReport) -> bytes:
    """The verdict as a JSON object."""
    fields: dict[str, Any] = {name: getattr(report, name) for name in VERDICT}
    return files.json_bytes(msgspec.to_builtins(fields), pretty=False).rstrip(b"\n")


def texts(found: tuple[RunFile, ...]) -> tuple[File, ...]:
    """The files that the analysis reads, within bounds; one that cannot be read is left out."""
    return sources.within(_readable(found))


def _readable(found: tuple[RunFile, ...]) -> Iterator[File]:
    for file in found:
        if sources.wanted(file.path):
            with suppress(OSError):
                yield _text(file)


def _text(file: RunFile) -> File:
    if isinstance(file.source, bytes):
        return sources.file_of(file.path, file.source)
    with open(file.source, "rb") as stream:
        return sources.file_from(file.path, iter(partial(stream.read, _PIECE), b""), size=file.size)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
