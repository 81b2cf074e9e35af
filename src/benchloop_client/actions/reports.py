"""Reports of jobs and groups: as the server answers them, as Markdown files, and asked for. Weakness reports work alike: see `Kind`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchloop_client.actions.artifact_lists import known_jobs
from benchloop_client.actions.destination import Content, Destination, beside, in_group
from benchloop_client.actions.events import Counter, Noted, NullAnswer, Wrote
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.waiting import Look, Patience, Wait, judged
from benchloop_client.actions.work import Counted, Work, placed
from benchloop_client.client import Client
from benchloop_client.contract.analysis import UNFINISHED
from benchloop_client.errors import BenchloopError, IntegrityError, NotFound

Ask = Callable[[Client, str], Any]
#: The Markdown in an answer, None where there is none. Raises `IntegrityError` for an answer of another shape.
Text = Callable[[Any], "str | None"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of report: its `name` in file names, the word for it, and the calls, texts and columns of jobs and of groups."""

    name: str
    word: str
    of_job: Ask
    of_group: Ask
    trigger_job: Ask
    trigger_group: Callable[[Client, str, bool], Any]
    job_text: Text
    group_text: Text
    #: What a table shows of an answer about a job, and about a group.
    job_columns: tuple[str, ...]
    group_columns: tuple[str, ...]

    @property
    def suffix(self) -> str:
        """What follows an id in the name of a file."""
        return f"_{self.name}.md"


def first_content(answer: Any) -> str | None:
    """The Markdown of E17 and E18: the first of `reports`, which is the newest; no `content` is an empty text."""
    found = _field(answer, "reports")
    if not found:
        return None
    if not isinstance(found, list) or not isinstance(found[0], dict):
        raise IntegrityError("the answer holds no list of reports")
    text = found[0].get("content")
    if not isinstance(text, str | None):
        raise IntegrityError("the report is no text")
    return text or ""


REPORT = Kind(
    name="report",
    word="report",
    of_job=lambda client, job_id: client.job_report(job_id),
    of_group=lambda client, group_id: client.group_report(group_id),
    trigger_job=lambda client, job_id: client.job_report_trigger(job_id),
    trigger_group=lambda client, group_id, passed: client.group_report_trigger(group_id, include_passed=passed),
    job_text=first_content,
    group_text=first_content,
    job_columns=("job_id", "status", "fail_reason", "sub_fail_reason", "reward_valid", "tier", "fault_side", "wasted_steps", "says"),
    group_columns=("group_id", "status", "headline"),
)


class Lacking:
    """Counts what has no report, for one line at the end instead of one for each. Safe between threads."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._groups = self._jobs = self._unanalysed = 0
        self._lock = threading.Lock()

    def note(self, answer: Any, *, group: bool) -> None:
        """One more: `answer` is what the server said instead of a report."""
        with self._lock:
            self._groups += group
            self._jobs += not group
            self._unanalysed += isinstance(answer, dict) and answer.get("status") in UNFINISHED

    def tell(self, work: Work) -> None:
        """Say how many there were, if any."""
        parts = [f"{count} {unit}(s)" for count, unit in ((self._groups, "group"), (self._jobs, "job")) if count]
        if parts:
            why = f"; {self._unanalysed} of them not analysed yet" if self._unanalysed else ""
            work.watch(Noted(f"no {self._kind.word} for {' and '.join(parts)}: no file written{why}"))


def element(ask: Ask, work: Work, item: str, *, layout: Layout) -> Iterator[bytes]:
    """An answer as it is, as text."""
    yield layout.value(ask(work.client, item))


def download_jobs(kind: Kind, work: Work, jobs: Sequence[str], destination: Destination) -> Report:
    """Write `<job>_<kind>.md` of each job that has one."""
    saving = Saving(kind, work, destination)
    count = Counted(Counter(work.watch, f"job {kind.name} downloads", "jobs", len(jobs)), "processed")
    report = work.run(jobs, saving.job, count=count)
    saving.lacking.tell(work)
    return report


def download_groups(kind: Kind, work: Work, groups: Sequence[str], destination: Destination) -> Report:
    """Write `<group>_<kind>.md` and `<group>/<job>_<kind>.md`, one group after another; a group is done when nothing of it failed."""
    saving = Saving(kind, work, destination)
    counter = Counter(work.watch, f"group {kind.name} downloads", "groups", len(groups))
    reports: list[Report] = []
    for group_id in groups:
        report = saving.group(group_id)
        counter.step("processed" if report.ok else "failed", group_id)
        reports.append(Report(int(report.ok), tuple(_in_group(group_id, failure) for failure in report.failures)))
    saving.lacking.tell(work)
    return Report.of_all(reports)


class Saving:
    """Writes reports of one kind, and counts what has none. Safe between threads."""

    def __init__(self, kind: Kind, work: Work, destination: Destination) -> None:
        self.lacking = Lacking(kind)
        self._kind, self._work, self._destination = kind, work, destination

    def job(self, job_id: str) -> None:
        """Write `<job>_<kind>.md`, if there is one."""
        self.job_to(job_id, beside(job_id, self._kind.suffix))

    def group(self, group_id: str, *, jobs: Callable[[], Sequence[str]] | None = None) -> Report:
        """Write the group's own report and that of each of its jobs; failures are labelled with the group's or the job's id.

        `jobs` gives the ids of the group's jobs; without it they are asked for, and a counter tells how far it is.
        """
        work, name = self._work, self._kind.name
        found: list[str] = []
        own = work.in_turn([group_id], self.own)
        listed = work.in_turn([group_id], lambda group: found.extend(jobs() if jobs is not None else known_jobs(work, group)))
        if not listed.ok:
            return own if _both_unknown(own, listed) else Report.of_all([own, listed])
        count = None
        if jobs is None:
            count = Counted(Counter(work.watch, f"group {name} jobs {group_id}", "jobs", len(found), timed=True), "processed")
        return Report.of_all(
            [own, work.run(found, lambda job_id: self.job_to(job_id, in_group(group_id, f"{job_id}{self._kind.suffix}")), count=count)]
        )

    def own(self, group_id: str) -> None:
        """Write `<group>_<kind>.md`, if there is one."""
        kind = self._kind
        self._save(beside(group_id, kind.suffix), f"{kind.name} {group_id}", lambda: kind.of_group(self._work.client, group_id), group=True)

    def job_to(self, job_id: str, path: str) -> None:
        """Write the report of a job to `path`, if there is one."""
        kind = self._kind
        self._save(path, f"job_{kind.name} {job_id}", lambda: kind.of_job(self._work.client, job_id), group=False)

    def _save(self, path: str, source: str, ask: Callable[[], Any], *, group: bool) -> None:
        """Write a text without adding anything; half a surrogate pair becomes U+FFFD. A file that is kept is not asked for."""
        text_of = self._kind.group_text if group else self._kind.job_text

        def content(_etag: str | None) -> Content:
            answer = ask()
            text = text_of(answer)
            if text is None:
                raise _NoText(answer)
            return Content((text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(),))

        try:
            placed(self._work, self._destination.save(path, source, content), Wrote)
        except _NoText as none:
            self.lacking.note(none.answer, group=group)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which reports are asked for: of groups (with the jobs that passed, or without) or of jobs."""

    groups: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    include_passed: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids asked for."""
        return self.groups or self.jobs


def trigger(kind: Kind, work: Work, wish: Wish, *, patience: Patience | None = None) -> tuple[list[Any], Report]:
    """Ask for reports; returns the answers in the order asked for, and the failures.

    With `patience` it waits for each: the answer is the report then, as `get` shows it. Where it does not come, the answer of the request
    stays, and a `NotReady` is among the failures.
    """
    answers: dict[str, Any] = {}
    failures: dict[str, Failure] = {}
    for result in work.results(wish.ids, lambda item: _asked(kind, work, wish, item), ordered=True):
        if isinstance(result.error, BenchloopError):
            failures[result.item] = Failure(result.item, result.error)
        elif result.value is None and patience is None:
            work.watch(NullAnswer(result.item))
        else:
            answers[result.item] = result.value
    if patience is not None and answers:
        waited = list(answers)
        came = Wait(work, waited, lambda item: _look(kind, work, wish, item), patience=patience, what=f"{kind.word}s").until_done()
        answers |= {waited[place]: answer for place, answer in came.answers.items()}
        failures |= {waited[place]: failure for place, failure in came.failures.items()}
    shown = [answers[item] for item in wish.ids if answers.get(item) is not None]
    return shown, Report(len(wish.ids) - len(failures), tuple(failures[item] for item in wish.ids if item in failures))


def _asked(kind: Kind, work: Work, wish: Wish, item: str) -> Any:
    if wish.groups:
        return kind.trigger_group(work.client, item, wish.include_passed)
    return kind.trigger_job(work.client, item)


def _look(kind: Kind, work: Work, wish: Wish, item: str) -> Look:
    ask, text = (kind.of_group, kind.group_text) if wish.groups else (kind.of_job, kind.job_text)
    answer = ask(work.client, item)
    return judged(answer, there=text(answer) is not None)


class _NoText(Exception):
    """There is no report; `answer` is what came instead."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


def _field(answer: Any, name: str) -> Any:
    """A field of an answer that is an object, None of a null answer. Raises `IntegrityError` for an answer of another shape."""
    if answer is None:
        return None
    if not isinstance(answer, dict):
        raise IntegrityError("the answer is not an object")
    return answer.get(name)


def _in_group(group_id: str, failure: Failure) -> Failure:
    return failure if failure.label == group_id else replace(failure, label=f"{group_id}:{failure.label}")


def _both_unknown(own: Report, listed: Report) -> bool:
    """The group does not exist: that is one failure, not two."""
    return all(isinstance(failure.error, NotFound) for failure in (*own.failures, *listed.failures)) and not own.ok
