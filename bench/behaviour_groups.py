"""Tables for the statistics of behaviours: real runs, shuffled ones, and a large group that is made up."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchloop_analysis import sources
from benchloop_analysis.behaviours import ACTIONS, CATALOGUE, CATALOGUE_VERSION, LANDMARKS, observe
from benchloop_analysis.behaviours.records import Behaviour, Features
from benchloop_analysis.brm.columns import Outcome, catalogue_columns
from benchloop_analysis.brm.effects import FEWEST
from benchloop_analysis.brm.records import SampleRecord, Study
from benchloop_analysis.brm.sampling import Row, choose
from benchloop_analysis.brm.study import Options, study
from benchloop_analysis.brm.table import Observed, Table, TableBuilder
from benchloop_analysis.case import Case
from benchloop_analysis.records import Facts, JobInput
from benchloop_analysis.statistics.compare import Options as Comparing
from benchloop_analysis.statistics.compare import compare
from benchloop_analysis.statistics.multiple import Q_LIMIT, benjamini_hochberg
from benchloop_analysis.statistics.strata import Strata
from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import RunFile, RunJob

_MB = 1024


# ---- real runs ------------------------------------------------------------------------------------------------------------------------


def real_table(path: Path) -> Table:
    """The table of all jobs in a folder of runs."""
    builder = TableBuilder()
    for group in open_run(path).groups:
        for job in group.jobs():
            if isinstance(job, RunJob):
                builder.add(_observed(job))
    return builder.build()


def _observed(job: RunJob) -> Observed:
    facts = Facts.of(job.facts)
    given = JobInput(
        job_id=job.location,
        facts=facts,
        document=job.trajectory().document if job.trajectory is not None else None,
        files=tuple(sources.file_of(file.path, _bytes(file)) for file in job.files if sources.wanted(file.path)),
    )
    return Observed(
        job_id=job.location,
        task_id=facts.task_id,
        agent=facts.agent,
        model=facts.model,
        step=facts.step,
        reward=facts.reward,
        reward_valid=facts.reward_valid,
        features=observe(Case(given)),
    )


def _bytes(file: RunFile) -> bytes:
    return file.source if isinstance(file.source, bytes) else file.source.read_bytes()


def real_study(path: Path) -> Study:
    """The study of these runs as anybody gets it."""
    return study(real_table(path), Options(seed=1))


@dataclass(frozen=True)
class Shuffled:
    """Over `rounds` shuffles: the share with p < 0.05 of `tests` tests, and of shuffles with any q ≤ 0.10."""

    rounds: int
    tests: int
    rate: float
    studies_with_findings: float
    limits: tuple[float, float] = (0.035, 0.06)


def shuffled(path: Path, *, rounds: int, seed: int) -> Shuffled:
    """Shuffle the rewards within each task, which leaves nothing to be found, and look: for the catalogue and what looks plausible."""
    tables = [real_table(path), plausible_table(path)]
    table = tables[0]
    random = np.random.default_rng(seed)
    strata = Strata.of(table.stratum)
    order = np.argsort(strata.index, kind="stable")
    alarms = tests = findings = 0
    for place in range(rounds):
        reward = np.empty(len(table))
        reward[order] = table.reward[order][np.argsort(random.random(len(table)) + strata.index[order])]
        ps = [p for each in tables for p in _tested(replace(each, reward=reward), Comparing(draws=500, seed=place))]
        alarms += sum(p < 0.05 for p in ps)
        tests += len(ps)
        findings += any(q <= Q_LIMIT for q in benjamini_hochberg(ps))
    return Shuffled(rounds, tests, alarms / max(1, tests), findings / rounds)


def _tested(table: Table, options: Comparing) -> Iterator[float]:
    outcome = Outcome.of(table)
    for column in catalogue_columns(table, None):
        if column.behaviour.scored:
            found = compare(outcome.rows(column.values), options)
            if found.p is not None and found.informative_strata >= FEWEST:
                yield found.p


# ---- what looks plausible on tau-bench ------------------------------------------------------------------------------------------------


def plausible_table(path: Path) -> Table:
    """The runs of tau-bench with sixteen behaviours that anybody would try first: counts above their median, things done at all."""
    jobs = [
        (Facts.of(job.facts), job.location, _counts(job))
        for group in open_run(path).groups
        for job in group.jobs()
        if isinstance(job, RunJob)
    ]
    names = sorted(jobs[0][2])
    medians = {name: float(np.median([counts[name] for _, _, counts in jobs])) for name in names}
    catalogue = tuple(
        Behaviour(
            id=f"X{place}", name=name, category="efficiency", prior=0, definition=f"More {name.replace('_', ' ')} than the median job."
        )
        for place, name in enumerate(names, 1)
    )
    builder = TableBuilder(catalogue, "plausible")
    for facts, location, counts in jobs:
        values = tuple(float(counts[name] > medians[name]) for name in names)
        features = Features(version="plausible", values=values, steps=tuple(() for _ in names), n_steps=int(counts["steps"]))
        builder.add(Observed(location, facts.task_id, facts.agent, facts.model, facts.step, facts.reward, facts.reward_valid, features))
    return builder.build()


def _counts(job: RunJob) -> dict[str, float]:
    document = job.trajectory().document if job.trajectory is not None else None
    steps = list((document or {}).get("steps", ()))
    calls = [call for step in steps for call in step.get("tool_calls") or ()]
    names = [str(call.get("function_name", "")) for call in calls]
    said = [str(step.get("message") or "") for step in steps if step.get("source") == "agent"]
    heard = [str(step.get("message") or "") for step in steps if step.get("source") == "user"]
    writes = [name for name in names if name.startswith(("book", "update", "cancel", "send"))]
    reads = [name for name in names if name.startswith(("get", "search", "list"))]
    return {
        "steps": len(steps),
        "calls": len(calls),
        "different_tools": len(set(names)),
        "reads": len(reads),
        "writes": len(writes),
        "searches": sum(name.startswith("search") for name in names),
        "updates": sum(name.startswith("update") for name in names),
        "bookings": sum(name.startswith("book") for name in names),
        "calculations": names.count("calculate"),
        "same_tool_again": sum(one == other for one, other in pairwise(names)),
        "turns_of_the_user": len(heard),
        "words_of_the_user": sum(len(text.split()) for text in heard),
        "words_of_the_agent": sum(len(text.split()) for text in said),
        "longest_message": max((len(text) for text in said), default=0),
        "questions": sum("?" in text for text in said),
        "reads_of_reservations": sum("reservation" in name for name in reads),
    }


# ---- a large group --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """Seconds for the table and the study, rows of the table, and the process's peak in MB."""

    table: float
    study: float
    rows: int
    peak: float


def measured(jobs: int, *, steps: int, sample: int | None) -> Measured:
    """Study a made-up group in a process of its own, so that the peak is that of the study."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (jobs, steps, sample))


def _measure(jobs: int, steps: int, sample: int | None) -> Measured:
    began = time.monotonic()
    table, chosen = made_table(jobs, steps=steps, sample=sample, seed=1)
    built = time.monotonic()
    study(table, Options(seed=1, samples=chosen))
    ended = time.monotonic()
    return Measured(built - began, ended - built, len(table), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MB)


def made_table(jobs: int, *, steps: int, sample: int | None, seed: int, attempts: int = 8) -> tuple[Table, tuple[SampleRecord, ...]]:
    """A group of `jobs` over `steps`, the same tasks in each step; with `sample`, so many jobs of each step are drawn."""
    random = np.random.default_rng(seed)
    tasks = max(1, jobs // (steps * attempts))
    ease = random.normal(-0.3, 1.0, tasks)
    rows = [
        (f"job-{task}-{step}-{attempt}", f"task-{task}", float(random.random() < _share(ease[task])), None, step)
        for step in range(steps)
        for task in range(tasks)
        for attempt in range(attempts)
    ]
    chosen = choose([Row(*row) for row in rows], size=sample, seed=seed)
    weights = dict(zip(chosen.job_ids, chosen.weights, strict=True))
    builder = TableBuilder()
    for job_id, task_id, reward, valid, step in rows:
        weight = weights.get(job_id)
        if weight is not None:
            features = made_features(random, float(ease[int(task_id[5:])]))
            builder.add(Observed(job_id, task_id, "agent", "model", step, reward, valid, features, weight))
    return builder.build(), chosen.records


def _share(ease: float) -> float:
    return float(1 / (1 + np.exp(-ease)))


def made_features(random: np.random.Generator, ease: float) -> Features:
    """Features of a job at a task of this ease, with as many actions as real ones have."""
    lots = random.random(len(CATALOGUE))
    values = tuple(
        None if lot < 0.1 else float(lot) if behaviour.kind == "ratio" else float(lot < 0.1 + 0.8 * _share(ease))
        for lot, behaviour in zip(lots, CATALOGUE, strict=True)
    )
    length = int(random.integers(8, 80))
    return Features(
        version=CATALOGUE_VERSION,
        values=values,
        steps=tuple(() for _ in CATALOGUE),
        landmarks={steps: values for steps in LANDMARKS if steps < length},
        n_steps=length,
        actions="".join(random.choice(list(ACTIONS), length)),
    )
