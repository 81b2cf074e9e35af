"""Analyses made by hand, for the tests of reports."""

from __future__ import annotations

from typing import Any

from benchloop_analysis.events import read_trajectory
from benchloop_analysis.records import (
    Evidence,
    Facts,
    FaultSide,
    JobAnalysis,
    Label,
    Signature,
    Tier,
    Trajectory,
    Verdict,
    VerifierReport,
)
from benchloop_client.contract.trajectory import normalise

SIDES: dict[str, FaultSide] = {"verifier_error": "grader", "environment_error": "environment", "unknown": "unknown"}


def evidence(quote: str = "it says so", *, step: int | None = 3, field: str = "message", rule: str = "rule") -> Evidence:
    """A citation of a step, or of a file without one."""
    if step is None:
        return Evidence(rule_id=rule, source="file", field="verifier/test-stdout.txt", quote=quote, start=0)
    return Evidence(rule_id=rule, source="step", field=field, quote=quote, step_id=step, start=0)


def label(reason: str, sub: str, *, tier: Tier = "B", quote: str = "words", step: int = 3, **more: Any) -> Label:
    """A label on the agent's side."""
    found = (evidence(quote, step=step),)
    return Label(
        rule_id=sub, fail_reason=reason, sub_fail_reason=sub, tier=tier, fault_side="model", says=f"It was {sub}.", evidence=found, **more
    )


def signature(template: str = "no <n>", *, count: int = 2, seconds: float | None = 4.0, steps: tuple[int, ...] = (3, 5)) -> Signature:
    """An error of one job."""
    return Signature(
        tool="Bash", error_class="not_found", template=template, count=count, steps=steps, seconds=seconds, example=evidence("no 7")
    )


def verdict(reason: str | None = None, sub: str | None = None, **more: Any) -> Verdict:
    """A verdict with one citation; without a reason the job passed."""
    given: dict[str, Any] = {
        "fail_reason": reason,
        "sub_fail_reason": sub,
        "tier": "A" if reason else None,
        "fault_side": SIDES.get(reason, "model") if reason else None,
        "says": f"It failed by {sub}." if reason else "The job passed.",
        "outcome": "failed" if reason else "passed",
        "reward_valid": False if reason == "verifier_error" else None,
        "evidence": (evidence(),) if reason else (),
        "ruleset_version": "builtin:1",
    }
    return Verdict(**{**given, **more})


def job(number: int, reason: str | None = None, sub: str | None = None, **more: Any) -> JobAnalysis:
    """The analysis of job `j<number>`."""
    rest = {name: more.pop(name) for name in ("tests", "signatures", "signals", "trajectory") if name in more}
    return JobAnalysis(job_id=f"j{number}", verdict=verdict(reason, sub, **more), **rest)


def facts(task: str = "t", *, reward: float | None = 0.0, **more: Any) -> Facts:
    """Facts of an ended job."""
    return Facts(task_id=task, reward=reward, **{"status": "completed", "agent": "coder", "model": "m", **more})


def report_of_tests(*failed: str, passed: int = 0) -> VerifierReport:
    """A verifier's report."""
    return VerifierReport(path="verifier/ctrf.json", passed=passed, failed=len(failed), total=passed + len(failed), failed_names=failed)


def call(step: int, command: str, output: str = "ok", *, text: str = "", failed: bool | None = None) -> dict[str, Any]:
    """A step of the agent that runs a command."""
    result: dict[str, Any] = {"source_call_id": f"c{step}", "content": output}
    if failed is not None:
        result["extra"] = {"is_error": failed}
    return {
        "step_id": step,
        "source": "agent",
        "message": text,
        "tool_calls": [{"tool_call_id": f"c{step}", "function_name": "Bash", "arguments": {"command": command}}],
        "observation": {"results": [result]},
    }


def run(*steps: dict[str, Any], last: str | None = "All done.") -> Trajectory:
    """The events of a task with these steps, and a last word of the agent."""
    asked = {"step_id": 1, "source": "user", "message": "Do it."}
    said = [{"step_id": 99, "source": "agent", "message": last}] if last is not None else []
    document = normalise(
        {"schema_version": "ATIF-v1.4", "agent": {"name": "coder", "version": "1"}, "steps": [asked, *steps, *said]}
    ).document
    return read_trajectory(document)
