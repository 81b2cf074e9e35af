"""One attempt of a sample run, as the documents and files that a Harbor trial leaves."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from benchloop_client.samples.outcomes import Ending
from benchloop_client.samples.tasks import Move, SampleTask

AGENT = {"name": "sample-agent", "version": "0.4.1"}
MODEL = "example-model-small"
_SYSTEM = "You solve tasks in a container. Run one command at a time and say when you are done."
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "shell",
            "description": "Run a command and read its output.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        },
    }
]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one trial is made of. Everything random comes from `dice`, in a fixed order."""

    task: SampleTask
    ending: Ending
    job_id: str
    job_name: str
    started: datetime
    dice: Random = field(repr=False)
    name: str = ""

    @staticmethod
    def named(task: SampleTask, ending: Ending, job: tuple[str, str], started: datetime, dice: Random) -> Attempt:
        """An attempt with a trial name as Harbor makes them; `job` is the run's id and name."""
        suffix = "".join(dice.choice(_LETTERS) for _ in range(7))
        return Attempt(task, ending, job[0], job[1], started, dice, f"{task.name}__{suffix}")


def trial_files(attempt: Attempt) -> dict[str, bytes]:
    """The trial's files by their path in its folder."""
    trajectory, ended = _trajectory(attempt)
    result = _result(attempt, trajectory, ended)
    files = {
        "config.json": pretty(_config(attempt)),
        "lock.json": pretty(lock_entry(attempt.task)),
        "trial.log": f"{stamp(attempt.started)} trial {attempt.name} started\n".encode(),
    }
    if not attempt.ending.finished:
        files["agent/trajectory.json"] = pretty(trajectory)[:-40]
        return files
    files["agent/trajectory.json"] = pretty(trajectory)
    files["result.json"] = pretty(result)
    files["trial.log"] += f"{stamp(ended)} trial {attempt.name} ended\n".encode()
    files["artifacts/manifest.json"] = pretty([])
    files.update(_verifier_files(attempt))
    if b"images/chart.png" in files["agent/trajectory.json"]:
        files["agent/images/chart.png"] = _chart()
    if attempt.ending.exception:
        files["exception.txt"] = f"{attempt.ending.exception}: {attempt.ending.message}\n".encode()
    return files


def lock_entry(task: SampleTask) -> dict[str, Any]:
    """What a lock says of one trial."""
    digest = uuid5(NAMESPACE_URL, task.instruction).hex * 2
    return {
        "schema_version": 2,
        "task": {
            "name": task.name,
            "type": "local",
            "digest": f"sha256:{digest}",
            "source": "house-tasks",
            "path": f"/srv/tasks/{task.name}",
        },
        "agent": {"name": AGENT["name"], "model_name": MODEL},
    }


def pretty(value: Any) -> bytes:
    """JSON as Harbor writes it: indented, UTF-8."""
    return (json.dumps(value, indent=4, ensure_ascii=False) + "\n").encode()


def stamp(moment: datetime) -> str:
    """A trial's time: UTC with a Z."""
    return moment.isoformat(timespec="microseconds") + "Z"


def _config(attempt: Attempt) -> dict[str, Any]:
    task = attempt.task.name
    return {
        "schema_version": 1,
        "task": {"path": f"/srv/tasks/{task}", "name": None, "source": "house-tasks"},
        "trial_name": attempt.name,
        "trials_dir": f"/srv/jobs/{attempt.job_name}",
        "agent": {"name": AGENT["name"], "model_name": MODEL, "kwargs": {}},
        "verifier": {"disable": False},
        "job_id": attempt.job_id,
    }


def _moves(attempt: Attempt) -> list[Move]:
    moves = list(attempt.task.solution if attempt.ending.solved else attempt.task.mistake)
    if attempt.ending.cut is not None:
        moves = (
            (moves * 3)[: max(attempt.ending.cut, 1)] if attempt.ending.exception == "AgentTimeoutError" else moves[: attempt.ending.cut]
        )
    return moves


def _trajectory(attempt: Attempt) -> tuple[dict[str, Any], datetime]:
    """The trajectory and the moment it ends."""
    clock = attempt.started + timedelta(seconds=20)
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "timestamp": stamp(clock), "source": "system", "message": _SYSTEM},
        {"step_id": 2, "timestamp": stamp(clock), "source": "user", "message": attempt.task.instruction},
    ]
    context = 600 + len(attempt.task.instruction) // 4
    for move in _moves(attempt):
        clock += timedelta(seconds=attempt.dice.randint(4, 40))
        steps.append(_turn(move, len(steps) + 1, stamp(clock), context, attempt.dice))
        context += 180 + len(move.command + move.output) // 4
    if attempt.ending.cut is None:
        clock += timedelta(seconds=attempt.dice.randint(2, 9))
        steps.append(_last_word(attempt, len(steps) + 1, stamp(clock), context))
    document = {
        "schema_version": "ATIF-v1.7",
        "session_id": str(uuid5(NAMESPACE_URL, attempt.name + attempt.job_id)),
        "agent": {**AGENT, "model_name": MODEL, "tool_definitions": _TOOLS},
        "steps": steps,
        "final_metrics": _totals(steps),
    }
    return document, clock + timedelta(seconds=3)


def _turn(move: Move, number: int, moment: str, context: int, dice: Random) -> dict[str, Any]:
    call_id = f"call_{number}_{dice.randrange(16**6):06x}"
    content: Any = move.output
    if move.output == "IMAGE":
        content = [
            {"type": "text", "text": "The picture:"},
            {"type": "image", "source": {"media_type": "image/png", "path": "images/chart.png"}},
        ]
    return {
        "step_id": number,
        "timestamp": moment,
        "source": "agent",
        "model_name": MODEL,
        "message": "",
        "reasoning_content": move.thought,
        "tool_calls": [{"tool_call_id": call_id, "function_name": "shell", "arguments": {"command": move.command}}],
        "observation": {"results": [{"source_call_id": call_id, "content": content, "extra": {"is_error": move.failed}}]},
        "metrics": _metrics(context, 40 + len(move.thought + move.command) // 4, cached=context // 2),
        "llm_call_count": 1,
    }


def _last_word(attempt: Attempt, number: int, moment: str, context: int) -> dict[str, Any]:
    return {
        "step_id": number,
        "timestamp": moment,
        "source": "agent",
        "model_name": MODEL,
        "message": attempt.task.done,
        "metrics": _metrics(context, 30, cached=context // 2),
        "llm_call_count": 1,
    }


def _metrics(prompt: int, completion: int, cached: int) -> dict[str, Any]:
    cost = round((prompt - cached) * 3e-7 + cached * 3e-8 + completion * 1.2e-6, 8)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached, "cost_usd": cost}


def _totals(steps: list[dict[str, Any]]) -> dict[str, Any]:
    metrics = [step["metrics"] for step in steps if "metrics" in step]
    return {
        "total_prompt_tokens": sum(entry["prompt_tokens"] for entry in metrics),
        "total_completion_tokens": sum(entry["completion_tokens"] for entry in metrics),
        "total_cached_tokens": sum(entry["cached_tokens"] for entry in metrics),
        "total_cost_usd": round(sum(entry["cost_usd"] for entry in metrics), 8),
        "total_steps": len(steps),
    }


def _result(attempt: Attempt, trajectory: dict[str, Any], ended: datetime) -> dict[str, Any]:
    totals, ending, start = trajectory["final_metrics"], attempt.ending, attempt.started
    verified = ended + timedelta(seconds=attempt.dice.randint(3, 20))
    return {
        "schema_version": 1,
        "id": str(uuid5(NAMESPACE_URL, f"{attempt.job_id}/{attempt.name}")),
        "task_name": attempt.task.name,
        "trial_name": attempt.name,
        "trial_uri": f"file:///srv/jobs/{attempt.job_name}/{attempt.name}",
        "task_id": {"path": f"/srv/tasks/{attempt.task.name}"},
        "source": "house-tasks",
        "task_checksum": uuid5(NAMESPACE_URL, attempt.task.name).hex * 2,
        "config": _config(attempt),
        "agent_info": {**AGENT, "model_info": {"name": MODEL, "provider": None}},
        "agent_result": {
            "n_input_tokens": totals["total_prompt_tokens"],
            "n_cache_tokens": totals["total_cached_tokens"],
            "n_output_tokens": totals["total_completion_tokens"],
            "cost_usd": totals["total_cost_usd"],
        },
        "verifier_result": None if ending.rewards is None else {"rewards": ending.rewards},
        "exception_info": _exception(ending, ended),
        "started_at": stamp(start),
        "finished_at": stamp(verified),
        "environment_setup": {"started_at": stamp(start), "finished_at": stamp(start + timedelta(seconds=15))},
        "agent_setup": {"started_at": stamp(start + timedelta(seconds=15)), "finished_at": stamp(start + timedelta(seconds=20))},
        "agent_execution": {"started_at": stamp(start + timedelta(seconds=20)), "finished_at": stamp(ended)},
        "verifier": {"started_at": stamp(ended), "finished_at": stamp(verified)},
        "step_results": None,
        "reward_valid": ending.valid,
    }


def _exception(ending: Ending, moment: datetime) -> dict[str, Any] | None:
    if ending.exception is None:
        return None
    return {
        "exception_type": ending.exception,
        "exception_message": ending.message,
        "exception_traceback": f"Traceback (most recent call last):\n  …\n{ending.exception}: {ending.message}\n",
        "occurred_at": stamp(moment),
        "policy": {"should_retry": not ending.valid, "should_grade": ending.valid, "has_valid_reward": ending.valid},
    }


def _verifier_files(attempt: Attempt) -> dict[str, bytes]:
    ending, checks = attempt.ending, attempt.task.checks
    if ending.exception in {"ApiOverloadedError", "RewardFileNotFoundError"}:
        return {"verifier/test-stdout.txt": b"the verifier did not get as far as a reward\n"}
    rewards = ending.rewards or {}
    passed = round(rewards.get("reward", 0.0) * len(checks))
    lines = [f"{'PASSED' if place < passed else 'FAILED'} {name}" for place, name in enumerate(checks)]
    report = pretty(rewards)
    return {
        "verifier/test-stdout.txt": ("\n".join(lines) + "\n").encode(),
        "verifier/reward.json": report if ending.valid else report[:9],
    }


def _chart() -> bytes:
    """A PNG of 140 × 80 pixels with seven bars, the fourth the tallest."""
    heights = (30, 42, 38, 74, 51, 22, 18)
    rows = []
    for y in range(80):
        bars = (80 - y <= heights[x // 20] and x % 20 in range(3, 17) for x in range(140))
        rows.append(b"\0" + bytes(0x40 if bar else 0xF4 for bar in bars))
    header = struct.pack(">IIBBBBB", 140, 80, 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(rows), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
