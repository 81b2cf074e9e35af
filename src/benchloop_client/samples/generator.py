"""Two small Harbor run directories of one evaluation during training: the same tasks at step 100 and at step 200."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from benchloop_client.samples.outcomes import PLAN, Ending
from benchloop_client.samples.tasks import load_tasks
from benchloop_client.samples.trials import AGENT, MODEL, Attempt, lock_entry, pretty, stamp, trial_files

#: The training steps written, one run directory each.
GROUP_STEPS = tuple(PLAN)
_FIRST_DAY = datetime.fromisoformat("2026-03-02T09:00:00.120431")


@dataclass(frozen=True, slots=True)
class SampleRun:
    """One run directory that was written: where, for which training step, how many trials it has and how many it planned."""

    path: Path
    step: int
    trials: int
    planned: int


def write_samples(out: Path, *, seed: int = 7) -> list[SampleRun]:
    """Write `out/step-100` and `out/step-200`, to be pushed as `bl push out/step-100 --step 100 --group G` and so on.

    Equal seeds give equal bytes. Files of the same names are overwritten. Raises `OSError`.
    """
    return [_write_run(out / f"step-{step}", step, seed) for step in GROUP_STEPS]


def write_run(out: Path, *, step: int = GROUP_STEPS[-1], seed: int = 7) -> Path:
    """Write the run directory of one training step at `out` and return `out`. Raises `OSError`."""
    return _write_run(out, step, seed).path


def _write_run(folder: Path, step: int, seed: int) -> SampleRun:
    dice = Random(f"{seed}/{step}")
    job = (str(uuid5(NAMESPACE_URL, f"benchloop/sample/{seed}/{step}")), f"house-tasks-step-{step}")
    started = _FIRST_DAY + timedelta(days=step // 100 - 1)
    attempts = _attempts(step, job, started, dice)
    for attempt in attempts:
        _write_files(folder / attempt.name, trial_files(attempt))
    _write_files(folder, _job_files(job, started, attempts))
    return SampleRun(folder, step, len(attempts), len(attempts))


def _attempts(step: int, job: tuple[str, str], started: datetime, dice: Random) -> list[Attempt]:
    """Every attempt of the plan, the first ones of all tasks before the second ones."""
    plan = PLAN[step]
    tasks = load_tasks()
    made: list[Attempt] = []
    for place in range(max(len(endings) for endings in plan.values())):
        for task in tasks:
            if place < len(plan[task.name]):
                moment = started + timedelta(minutes=4 * len(made), microseconds=dice.randrange(999_999))
                made.append(Attempt.named(task, plan[task.name][place], job, moment, dice))
    return made


def _write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _job_files(job: tuple[str, str], started: datetime, attempts: list[Attempt]) -> dict[str, bytes]:
    job_id, name = job
    ended = started + timedelta(minutes=4 * len(attempts) + 10)
    done = all(attempt.ending.finished for attempt in attempts)
    config = {
        "schema_version": 1,
        "job_name": name,
        "jobs_dir": "/srv/jobs",
        "n_attempts": 3,
        "n_concurrent_trials": 4,
        "agents": [{"name": AGENT["name"], "model_name": MODEL}],
        "datasets": [{"name": "house-tasks", "version": "1.2"}],
    }
    lock = {
        "schema_version": 3,
        "created_at": stamp(started),
        "harbor": {"version": "0.26.0", "is_editable": False},
        "n_concurrent_trials": 4,
        "trials": [lock_entry(attempt.task) for attempt in attempts],
    }
    result = {
        "schema_version": 1,
        "id": job_id,
        # Harbor writes its job times as local time without a zone.
        "started_at": started.isoformat(),
        "updated_at": ended.isoformat(),
        "finished_at": ended.isoformat() if done else None,
        "n_total_trials": len(attempts),
        "stats": _stats([attempt.ending for attempt in attempts]),
    }
    log = f"{started.isoformat()} INFO job {name} started\n".encode()
    return {"config.json": pretty(config), "lock.json": pretty(lock), "result.json": pretty(result), "job.log": log}


def _stats(endings: list[Ending]) -> dict[str, Any]:
    graded = [ending.rewards["reward"] for ending in endings if ending.rewards is not None and ending.valid]
    return {
        "n_completed_trials": sum(ending.finished for ending in endings),
        "n_errored_trials": sum(ending.exception is not None for ending in endings),
        "n_running_trials": sum(not ending.finished for ending in endings),
        "n_pending_trials": 0,
        "n_cancelled_trials": 0,
        "n_retries": 0,
        "evals": {
            f"{AGENT['name']}__{MODEL}__house-tasks": {
                "n_trials": len(graded),
                "n_errors": sum(ending.exception is not None for ending in endings),
                "metrics": [{"reward": sum(graded) / len(graded)}],
            }
        },
    }
