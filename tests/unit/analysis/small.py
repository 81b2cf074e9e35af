"""Minimal jobs for the tests of rules: a few steps, a few facts, a log."""

from __future__ import annotations

import json
from typing import Any

from benchloop_analysis import verdict
from benchloop_analysis.records import Facts, File, JobAnalysis, JobInput, Label, Siblings
from benchloop_client.contract.resources import Phase
from benchloop_client.contract.trajectory import normalise

PASSED = "=== 2 passed in 0.10s ==="
ONE_LEFT = "FAILED test_outputs.py::test_c - AssertionError\n=== 1 failed, 2 passed in 0.10s ==="
ALL_FAILED = "FAILED test_outputs.py::test_a - AssertionError\n=== 3 failed in 0.10s ==="


def call(tool: str = "Bash", output: str | None = "ok", *, failed: bool | None = None, say: str = "", **arguments: Any) -> dict[str, Any]:
    """A step that calls a tool: `command=...` for a shell. `output` None: nothing answered."""
    step: dict[str, Any] = {
        "source": "agent",
        "message": say,
        "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
    }
    if output is not None:
        result: dict[str, Any] = {"source_call_id": "c", "content": output}
        if failed is not None:
            result["extra"] = {"is_error": failed}
        step["observation"] = {"results": [result]}
    return step


def sh(command: str, output: str | None = "ok", *, failed: bool | None = None) -> dict[str, Any]:
    """A shell command."""
    return call("Bash", output, failed=failed, command=command)


def say(text: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    """A step of words."""
    return {"source": source, "message": text, **more}


def job(
    *steps: dict[str, Any],
    task: str = "Make it work.",
    reward: float | None = 0.0,
    files: dict[str, str] | None = None,
    seconds: float | None = None,
    siblings: Siblings | None = None,
    **facts: Any,
) -> JobInput:
    """A job that ended, of `steps` after the task's text; none: no trajectory. `seconds` lie between one step and the next."""
    document = None
    if steps:
        listed = [say(task, "user"), *steps]
        for place, step in enumerate(listed):
            listed[place] = {**step, "step_id": place + 1}
            if seconds is not None:
                at = int(place * seconds)
                listed[place]["timestamp"] = f"2026-05-04T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"
        document = normalise({"agent": {"name": "a", "version": "1"}, "steps": listed}).document
    given = {"status": "completed", "reward_key": "reward", **facts}
    texts = tuple(File(path=path, text=text) for path, text in (files or {}).items())
    return JobInput(job_id="j", facts=Facts(task_id="t", reward=reward, **given), document=document, files=texts, siblings=siblings)


def graded(*steps: dict[str, Any], log: str = ALL_FAILED, **more: Any) -> JobInput:
    """A job with a log of its tests."""
    return job(*steps, files={"verifier/test-stdout.txt": log}, **more)


def tau(*steps: dict[str, Any], actions: list[tuple[str, dict[str, Any]]], reward: float = 0.0) -> JobInput:
    """A conversation with a service, and the actions that it was to take."""
    record = {
        "task_id": 1,
        "info": {
            "task": {"actions": [{"name": name, "kwargs": arguments} for name, arguments in actions]},
            "reward_info": {"reward": reward},
        },
    }
    return job(*steps, task="Help me.", reward=reward, files={"trial.json": json.dumps(record)})


def service(tool: str, output: str = "{}", **arguments: Any) -> dict[str, Any]:
    """A call of a service."""
    return call(tool, output, **arguments)


def analysed(given: JobInput) -> JobAnalysis:
    """The analysis by the rules that come with the package."""
    return verdict.analyse(given)


def fired(given: JobInput) -> dict[str, Label]:
    """Every label of a job by rule: the primary one, the secondary ones and the suspicions."""
    found = analysed(given).verdict
    labels = {label.rule_id: label for label in (*found.secondary, *found.integrity)}
    if found.evidence:
        rule = found.evidence[0].rule_id
        labels[rule] = Label(
            rule_id=rule,
            fail_reason=found.fail_reason or "",
            sub_fail_reason=found.sub_fail_reason or "",
            tier=found.tier or "D",
            fault_side=found.fault_side or "unknown",
            says=found.says,
            evidence=found.evidence,
            wasted_steps=found.wasted_steps,
            wasted_seconds=found.wasted_seconds,
        )
    return labels


def phase(minutes: int) -> Phase:
    """A timed part of a job."""
    return Phase(started_at="2026-05-04T00:00:00Z", finished_at=f"2026-05-04T{minutes // 60:02}:{minutes % 60:02}:00Z")
