"""Why did the jobs of a local run fail: the whole analysis on any directory that a push can read, without a server or network."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from benchloop_client.actions.events import Counter, Watch, unwatched
from benchloop_client.actions.report import Failure, Report
from benchloop_client.errors import BenchloopError, Cancelled, LocalError, UsageError
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, Run, RunGroup, UnreadableRun

try:
    from benchloop_analysis.group import GroupFold
    from benchloop_analysis.group_records import GroupFacts, GroupReport
    from benchloop_analysis.judge import Answer, Judge, Question
    from benchloop_analysis.judge_totals import JudgeTotals
    from benchloop_analysis.judge_vote import Votes
    from benchloop_analysis.markdown_group import group_markdown
    from benchloop_analysis.rsi_group import group_rsi, group_rsi_markdown
    from benchloop_client.actions.analyze_jobs import BRM, Done, Second, judge, rules_of
    from benchloop_client.actions.analyze_siblings import write_table
except ModuleNotFoundError as missing:
    raise LocalError(f"{missing.name} is missing, which the analysis needs: pip install 'benchloop_client[analysis]'") from None

from benchloop_client.actions import processes
from benchloop_client.actions.analyze_task import Task, options_of
from benchloop_client.actions.destination import beside
from benchloop_client.contract.analysis import SAMPLE_SIZE
from benchloop_client.transfer import files

if TYPE_CHECKING:
    from benchloop_client.actions.analyze_brm import Observations, Studied

    #: Asks the judge about the behaviour of the group with this number.
    Opinions = Callable[[int, Studied], dict[str, Any]]

#: A run of fewer bytes is read sooner than other processes are started.
SMALL_RUN = 4 << 20
_MOST_PROCESSES = 16
_JUDGE = processes.Program("benchloop_client.actions.analyze_jobs", "judge")
_FIGURES = "benchloop_client.actions.analyze_figures"
_JUDGED = "benchloop_client.actions.analyze_judged"
_LOOK = processes.Program("benchloop_client.actions.analyze_siblings", "look")


@dataclass(frozen=True, slots=True)
class Request:
    """What to analyse and how; the fields are the options of `bl analyze`. `processes` None: as many as there are cores.

    `brm`: study which behaviour goes with reward, too, with `sample_size` jobs of each training step (None: all); `html` is a file for
    its figures. `judge` is asked for its opinion where the rules are not sure, one job after another in this process; `votes` says
    how many of its answers have to agree. `judge_behaviours`: of so many jobs of each group it is asked about behaviour, too.
    """

    path: Path
    format: str = "auto"
    rules: tuple[Path, ...] = ()
    output_dir: Path | None = None
    processes: int | None = None
    pretty: bool = True
    options: ReadOptions = field(default_factory=ReadOptions)
    judge: Judge | None = None
    votes: Votes = field(default_factory=Votes)
    brm: bool = False
    sample_size: int | None = SAMPLE_SIZE
    html: Path | None = None
    judge_behaviours: int = 0


@dataclass(frozen=True, slots=True)
class AnalysedGroup:
    """One group: its report, where its jobs' verdicts lie in the spool (`start` to `end`), and in `brm` which behaviour goes with reward,
    as a server answers it; None where that was not asked for.
    """

    group_id: str
    report: GroupReport
    spool: IO[bytes]
    start: int
    end: int
    brm: dict[str, Any] | None = None

    def rows(self) -> Iterator[bytes]:
        """The verdict of each job as a JSON object, in the order of the run; read from the disk."""
        at = self.start
        while at < self.end:
            self.spool.seek(at)
            line = self.spool.readline()
            at += len(line)
            yield line.rstrip(b"\n")

    def jobs(self) -> Iterator[dict[str, Any]]:
        """The verdict of each job."""
        return (msgspec.json.decode(row) for row in self.rows())

    def report_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        found: dict[str, Any] = msgspec.json.decode(files.json_bytes(msgspec.to_builtins(self.report), pretty=False))
        return found


class Analysis:
    """What was found: `groups` in the order of the run, in `report` the jobs that could not be read, in `opinions` what a judge said.

    Close it to give the disk back.
    """

    def __init__(self, groups: tuple[AnalysedGroup, ...], report: Report, spool: IO[bytes], opinions: JudgeTotals) -> None:
        self.groups, self.report, self.opinions = groups, report, opinions
        self._spool = spool

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the verdicts that lie on the disk."""
        self._spool.close()


def analyze(request: Request, watch: Watch = unwatched) -> Analysis:
    """Judge every job of the run at `request.path`, and write all reports under `output_dir`, if one is given.

    A job that cannot be read is among the failures and stops no other. Raises `LocalError` for a path that no reader knows, `UsageError`
    for a rule file that cannot be used.
    """
    run = _opened(request)
    task = Task(
        path=str(request.path),
        format=run.format,
        options=options_of(request.options),
        rules=tuple((path.name, _rule_text(path)) for path in request.rules),
        output=str(request.output_dir.absolute()) if request.output_dir is not None else None,
        pretty=request.pretty,
        observe=request.brm,
    )
    rules_of(task.rules)
    if request.html is not None:
        importlib.import_module(_FIGURES).script()
    width = _width(request)
    folder = Path(tempfile.mkdtemp(prefix="benchloop-analyze-"))
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the analysis
    try:
        if not all(group.single for group in run.groups):
            write_table(folder, _watched(watch, "reading", processes.run(_LOOK, _tasks(task, width))))
            task = msgspec.structs.replace(task, siblings=str(folder))
        collected = _Collected(run, spool, _observations(run) if task.observe else None)
        careful = _Careful(request.judge) if request.judge is not None else None
        second = Second(careful, request.votes) if careful is not None else None
        items = judge(msgspec.json.encode(task), second) if second is not None else processes.run(_JUDGE, _tasks(task, width))
        for key, data in _watched(watch, "analysing", items):
            collected.add(key[0], msgspec.msgpack.decode(data, type=Done))
        opinions = (lambda number, study: _opinions(request, task, careful, number, study)) if careful is not None else None
        analysis = collected.analysis(request, careful.failures if careful is not None else (), opinions)
        if request.output_dir is not None:
            for group, fold in zip(analysis.groups, collected.folds, strict=True):
                _write(request, group, fold)
        return analysis
    except BaseException:
        spool.close()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _opened(request: Request) -> Run:
    try:
        return open_run(request.path, format=request.format, options=request.options)
    except UnreadableRun as error:
        raise LocalError(str(error)) from None


def _rule_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no UTF-8 text'}") from None


def _width(request: Request) -> int:
    if request.processes is not None:
        return max(1, request.processes)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if cores == 1 or _is_small(request.path) else min(cores, _MOST_PROCESSES)


def _is_small(path: Path) -> bool:
    """Whether the run's files come to few bytes; looks no further than it must."""
    size = 0
    for place in (path,) if path.is_file() else path.rglob("*"):
        if place.is_file() and not place.is_symlink():
            size += place.stat().st_size
        if size > SMALL_RUN:
            return False
    return True


def _tasks(task: Task, width: int) -> list[bytes]:
    return [msgspec.json.encode(msgspec.structs.replace(task, number=number, of=width)) for number in range(width)]


def _watched(watch: Watch, label: str, items: Iterator[processes.Item]) -> Iterator[processes.Item]:
    counter = Counter(watch, label, "jobs", None)
    for item in items:
        yield item
        counter.step("read", "")
    counter.end("done")


class _Careful:
    """A judge whose first failure is its last: it is asked no more, and the rules' own verdicts stand."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.failures: list[Failure] = []

    @property
    def model(self) -> str:
        return self._judge.model

    def ask(self, question: Question) -> Answer | None:
        if self.failures:
            return None
        try:
            return self._judge.ask(question)
        except Cancelled:
            raise
        except BenchloopError as error:
            self.failures.append(Failure("judge", error))
            return None


class _Collected:
    """Takes the jobs in order: counts them, and keeps their verdicts on the disk."""

    def __init__(self, run: Run, spool: IO[bytes], observed: Sequence[Observations] | None = None) -> None:
        self._groups, self._spool, self._observed = run.groups, spool, observed
        self.folds = [GroupFold(_facts(group)) for group in run.groups]
        self._bounds = [(0, 0)] * len(run.groups)
        self._failures: list[Failure] = []
        self._opinions = JudgeTotals()
        self._current = -1
        self._written = self._done = 0

    def add(self, group: int, done: Done) -> None:
        """Take in one job; groups come one after another."""
        if group != self._current:
            self._current = group
            self._bounds[group] = (self._written, self._written)
        if done.error is not None:
            self._failures.append(Failure(done.location, LocalError(done.error)))
        if done.paid_usd is not None:
            self._opinions.add(done.opinion, paid=done.paid_usd)
            self.folds[group].add_opinion(done.opinion, paid=done.paid_usd)
        if done.analysis is not None and done.facts is not None:
            self._done += 1
            self.folds[group].add(done.analysis, done.facts)
            if self._observed is not None and done.seen is not None:
                self._observed[group].add(done.facts, done.analysis, done.seen)
            self._written += self._spool.write(done.row + b"\n")
            self._bounds[group] = (self._bounds[group][0], self._written)

    def analysis(self, request: Request, more: Sequence[Failure], opinions: Opinions | None) -> Analysis:
        """Everything, when there are no more jobs; `more` failures are those of the judge, who has `opinions` on behaviour, too."""
        self._spool.flush()
        studies = self._studies(request, opinions)
        groups = tuple(
            AnalysedGroup(group.group_id, fold.report(), self._spool, *bounds, study)
            for group, fold, bounds, study in zip(self._groups, self.folds, self._bounds, studies, strict=True)
        )
        return Analysis(groups, Report(self._done, (*self._failures, *more), "job(s)"), self._spool, self._opinions)

    def _studies(self, request: Request, opinions: Opinions | None) -> list[dict[str, Any] | None]:
        """Of each group which behaviour goes with reward; a group of which nobody can tell is a failure and stops no other."""
        if self._observed is None:
            return [None] * len(self._groups)
        studies: list[Studied | None] = []
        for observed in self._observed:
            try:
                study = observed.study(request.sample_size)
                if opinions is not None and request.judge_behaviours:
                    study.answer["judged"] = opinions(len(studies), study)
                studies.append(study)
            except LocalError as error:
                self._failures.append(Failure(observed.group_id, error))
                studies.append(None)
            finally:
                observed.close()
        if request.html is not None:
            page = importlib.import_module(_FIGURES).page([study for study in studies if study is not None])
            target = request.html.absolute()
            files.place_bytes(target, page.encode("utf-8", "replace"), root=target.parent)
        return [None if study is None else study.answer for study in studies]


def _opinions(request: Request, task: Task, judge: Judge, number: int, study: Studied) -> dict[str, Any]:
    """What the judge says of behaviour in the group."""
    seed = study.study.provenance.seed
    found: dict[str, Any] = importlib.import_module(_JUDGED).ask(
        task, number, study.jobs, judge=judge, most=request.judge_behaviours, seed=seed
    )
    return found


def _observations(run: Run) -> list[Observations]:
    # Loaded only where it is wanted, see `analyze_jobs`.
    made = importlib.import_module(BRM).Observations
    return [made(group.group_id) for group in run.groups]


def _facts(group: RunGroup) -> GroupFacts:
    return GroupFacts(group_id=group.group_id, name=group.facts.name, benchmark=group.facts.benchmark, expected=group.facts.expected)


def _write(request: Request, group: AnalysedGroup, fold: GroupFold) -> None:
    assert request.output_dir is not None
    root = request.output_dir.absolute()
    texts = {"_report.md": group_markdown(group.report), "_rsi.md": group_rsi_markdown(group_rsi(fold, group.report))}
    for suffix, text in texts.items():
        files.place_bytes(root / beside(group.group_id, suffix), text.encode("utf-8", "replace"), root=root)
    files.place_json(root / beside(group.group_id, "_report.json"), group.report_dict(), root=root, pretty=request.pretty)
    if group.brm is not None:
        files.place_bytes(root / beside(group.group_id, "_brm.md"), str(group.brm["summary"]).encode("utf-8", "replace"), root=root)
        files.place_json(root / beside(group.group_id, "_brm.json"), group.brm, root=root, pretty=request.pretty)
