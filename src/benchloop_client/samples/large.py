"""Runs of any size for scale tests: the same Harbor shape, many small trials, made quickly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchloop_client.contract.resources import GroupUpsert, JobFacts, Source
from benchloop_client.contract.trajectory import Normal, normalise
from benchloop_client.formats.records import Rejected, Run, RunFile, RunGroup, RunJob

_ATTEMPTS = 4
_RUN_ID = "5a3c7e10-0000-4000-8000-{jobs:012d}"
_WORDS = (
    "open",
    "read",
    "parse",
    "query",
    "cache",
    "retry",
    "merge",
    "index",
    "block",
    "token",
    "frame",
    "stage",
    "queue",
    "shard",
    "trace",
    "batch",
    "route",
    "store",
    "fetch",
    "value",
    "count",
    "field",
    "table",
    "guard",
    "range",
    "check",
    "limit",
    "error",
)
_STEP_OVERHEAD = 510
_HEAD = 240


def large_run(jobs: int, size: int = 20_000, *, group: str = "large", seed: int = 7) -> Run:
    """A run of `jobs` jobs whose trajectories have about `size` bytes each, made one at a time while it is read; nothing is on disk."""
    facts = GroupUpsert(name=group, run_id=_RUN_ID.format(jobs=jobs), expected=jobs, model="example-model-small", agent="sample-agent")
    return Run("harbor", (RunGroup(group, facts, partial(_jobs, jobs, size, seed)),))


def write_large(out: Path, jobs: int, size: int = 20_000, *, seed: int = 7) -> Path:
    """The same as a Harbor run directory at `out`: three files a trial. Returns `out`. Raises `OSError`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_bytes(_json({"job_name": out.name, "n_attempts": _ATTEMPTS, "agents": [_agent()]}))
    (out / "result.json").write_bytes(_json({"id": _RUN_ID.format(jobs=jobs), "n_total_trials": jobs, "stats": {}}))
    text = _text(seed)
    for number in range(jobs):
        folder = out / _trial_name(number)
        (folder / "agent").mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_bytes(_json(_config(number, jobs)))
        (folder / "result.json").write_bytes(_json(_result(number, jobs)))
        (folder / "agent" / "trajectory.json").write_bytes(_json(_document(number, size, text)))
    return out


def _jobs(jobs: int, size: int, seed: int) -> Iterator[RunJob | Rejected]:
    text = _text(seed)
    for number in range(jobs):
        result = _json(_result(number, jobs))
        files = (RunFile("result.json", result, len(result)),)
        yield RunJob(_facts(number, jobs), partial(_normal, number, size, text), files, (), _trial_name(number))


def _normal(number: int, size: int, text: str) -> Normal:
    return normalise(_document(number, size, text))


def _facts(number: int, jobs: int) -> JobFacts:
    result = _result(number, jobs)
    return JobFacts(
        trial_key=f"{_RUN_ID.format(jobs=jobs)}/{_trial_name(number)}",
        task_id=_task(number),
        instance_id=_task(number),
        template="many-tasks",
        status="completed",
        model="example-model-small",
        agent="sample-agent",
        reward=_reward(number),
        reward_key="reward",
        rewards={"reward": _reward(number)},
        reward_valid=True,
        started_at=result["started_at"],
        finished_at=result["finished_at"],
        source=Source(format="harbor", reader="harbor", reader_version=1, location=_trial_name(number)),
    )


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _text(seed: int) -> str:
    """A megabyte of words, from which every output is cut: looks like text to a compressor, costs nothing to make."""
    dice = Random(seed)
    return " ".join(dice.choices(_WORDS, k=180_000))


def _task(number: int) -> str:
    return f"task-{number // _ATTEMPTS:05d}"


def _trial_name(number: int) -> str:
    return f"{_task(number)}__{number:07d}"


def _reward(number: int) -> float:
    return float(number * 2654435761 % 100 < 42)


def _agent() -> dict[str, Any]:
    return {"name": "sample-agent", "model_name": "example-model-small"}


def _config(number: int, jobs: int) -> dict[str, Any]:
    task = {"path": f"/srv/tasks/{_task(number)}", "source": "many-tasks"}
    return {"trial_name": _trial_name(number), "task": task, "agent": _agent(), "job_id": _RUN_ID.format(jobs=jobs)}


def _result(number: int, jobs: int) -> dict[str, Any]:
    minute, second = divmod(number % 3600, 60)
    start = f"2026-03-{1 + number // 86_400 % 28:02d}T{number // 3600 % 24:02d}:{minute:02d}:{second:02d}"
    return {
        "id": f"{number:032x}",
        "task_name": _task(number),
        "trial_name": _trial_name(number),
        "source": "many-tasks",
        "config": _config(number, jobs),
        "agent_info": {"name": "sample-agent", "version": "0.4.1", "model_info": None},
        "agent_result": {"n_input_tokens": 9000 + number % 1000, "n_cache_tokens": 4000, "n_output_tokens": 700, "cost_usd": 0.004},
        "verifier_result": {"rewards": {"reward": _reward(number)}},
        "exception_info": None,
        "started_at": f"{start}Z",
        "finished_at": f"{start}.500000Z",
        "reward_valid": True,
    }


def _document(number: int, size: int, text: str) -> dict[str, Any]:
    """A trajectory whose JSON has about `size` bytes: a few steps with outputs cut from `text` at places that differ by job."""
    turns = max(1, min(40, size // 4000))
    output = max(0, (size - _HEAD) // turns - _STEP_OVERHEAD)
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": f"Solve {_task(number)}."}]
    for turn in range(turns):
        at = (number * 7919 + turn * 104_729) % max(1, len(text) - output)
        steps.append(_turn(turn, (text * (1 + output // len(text)))[at : at + output] if output > len(text) else text[at : at + output]))
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": f"session-{number}",
        "agent": {"name": "sample-agent", "version": "0.4.1", "model_name": "example-model-small"},
        "steps": steps,
    }


def _turn(turn: int, output: str) -> dict[str, Any]:
    call = f"call-{turn}"
    return {
        "step_id": turn + 2,
        "source": "agent",
        "message": "",
        "reasoning_content": f"Turn {turn}: look at the next part before anything is changed, then decide what the failing check needs.",
        "tool_calls": [
            {"tool_call_id": call, "function_name": "shell", "arguments": {"command": f"sed -n {turn * 50},+49p /app/input.txt"}}
        ],
        "observation": {"results": [{"source_call_id": call, "content": output}]},
        "metrics": {"prompt_tokens": 800 + 300 * turn, "completion_tokens": 60, "cached_tokens": 400},
    }
