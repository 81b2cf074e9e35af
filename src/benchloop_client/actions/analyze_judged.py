"""A model's opinion on behaviours that rules cannot see, of some jobs of a local run, which is read once more for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benchloop_analysis.behaviours import judged
from benchloop_analysis.brm.conduct import Job, judged_patterns
from benchloop_analysis.brm.sampling import Row, choose
from benchloop_analysis.case import Case
from benchloop_analysis.judge import Judge
from benchloop_analysis.records import Facts, JobInput
from benchloop_client.actions.analyze_task import Task
from benchloop_client.actions.push_jobs import job_id_of
from benchloop_client.contract.trajectory import InvalidTrajectory
from benchloop_client.formats.records import RunJob


def ask(task: Task, group: int, jobs: Sequence[Job], *, judge: Judge, most: int, seed: int) -> dict[str, Any]:
    """`{model, asked, unasked, refused, unusable, cost_usd, behaviorPatterns}` about some `most` of the jobs: whole tasks, those
    with unequal rewards first.

    `unasked`: the budget was used up; `refused`: "yes" without true quotes; `unusable`: answers of another form. `cost_usd` is None where
    the cost of an answer is not known.
    """
    sample = set(choose([Row(job.job_id, job.task_id, job.reward, job.reward_valid) for job in jobs], size=most, seed=seed).job_ids)
    wanted = {job.job_id: job for job in jobs if job.job_id in sample}
    counts = dict.fromkeys(("asked", "unasked", "refused", "unusable"), 0)
    costs: list[float | None] = []
    found = []
    for job, case in _cases(task, group, wanted):
        question = judged.question(case, judge.model)
        answer = judge.ask(question) if question is not None else None
        if answer is None:
            counts["unasked"] += 1
            continue
        counts["asked"] += 1
        costs.append(answer.cost_usd)
        said = judged.believed(answer, case)
        counts["refused"] += said.refused
        if said.features is None:
            counts["unusable"] += 1
        else:
            found.append((job, said.features))
    known = [cost for cost in costs if cost is not None]
    patterns = msgspec.to_builtins(judged_patterns(found, seed=seed))
    return {"model": judge.model, **counts, "cost_usd": sum(known) if len(known) == len(costs) else None, "behaviorPatterns": patterns}


def _cases(task: Task, group: int, wanted: dict[str, Job]) -> Iterator[tuple[Job, Case]]:
    """The wanted jobs with what they hold; one that can no longer be read is left out."""
    run = task.open().groups[group]
    for _, found in run.shared(task.share()):
        job = wanted.get(job_id_of(run.group_id, found)) if isinstance(found, RunJob) else None
        if job is None or not isinstance(found, RunJob) or found.trajectory is None:
            continue
        try:
            document = found.trajectory().document
        except (InvalidTrajectory, OSError):
            continue
        yield job, Case(JobInput(job_id=job.job_id, facts=Facts.of(found.facts), document=document, files=(), siblings=None))
