"""A study as a person reads it, and `bl brm get` and `cancel` against a scripted server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchloop_client.cli import behaviour_table
from tests.support.scripted import Scripted, error, of_json
from tests.unit.client.cli.test_analysis_commands import Run, bl, server

__all__ = ["bl", "server"]

PATTERN: dict[str, Any] = {
    "name": "check_rate",
    "within_task_rd": 0.123,
    "rd_ci": {"low": 0.01, "high": None},
    "pooled_rd": -0.5,
    "informative_tasks": 12,
    "q": 0.04,
    "status": "no_evidence",
}
SUMMARY = "**Two words.**\n\n# Title\n\nPooled, 3 of 4 (p \\< 0.05).\n\n## Behaviours\n\n| a | b |\n"


def shown(patterns: list[dict[str, Any]], summary: str = SUMMARY) -> list[str]:
    """The lines."""
    answer = {"task_id": "U1", "status": "succeeded", "summary": summary, "behaviorPatterns": patterns}
    return b"".join(behaviour_table.render_line(json.dumps(answer).encode(), width=120, colour=False)).decode().splitlines()


def test_a_row_has_the_effect_and_the_raw_one_beside_it() -> None:
    lines = shown([PATTERN])
    assert lines[:5] == ["U1", "Two words.", "", "Pooled, 3 of 4 (p < 0.05).", ""]
    assert lines[5].split("  ")[0] == "behaviour"
    assert lines[6].split() == ["check_rate", "+12.3", "+1.0", "…", "-", "-50.0", "12", "0.040", "no", "evidence"]
    assert "## Behaviours" not in lines


def test_what_never_applied_is_counted() -> None:
    lines = shown([PATTERN, {**PATTERN, "status": "not_applicable"}, {**PATTERN, "status": "not_applicable"}])
    assert "2 more never applied, or never differed." in lines
    assert sum(line.startswith("check_rate") for line in lines) == 1


def test_examples_of_what_was_found_are_cited() -> None:
    example = {"job": "j1", "steps": [3, 4, 5, 6], "outcome": "fail"}
    lines = shown([{**PATTERN, "status": "supported", "examples": [example, {"job": "j2", "steps": [], "outcome": "pass"}]}])
    assert "check_rate, for example: j1 at step 3, 4, 5 (fail), j2 (pass)" in lines
    assert not any("for example" in line for line in shown([{**PATTERN, "examples": [example]}]))


def test_nothing_of_a_terminal_is_in_what_a_server_says() -> None:
    text = "\n".join(shown([{**PATTERN, "name": "a\x1b[2Jb"}], "evil \x1b]0;x\x07"))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_values_of_another_shape_do_no_harm() -> None:
    assert len(shown([{"name": None, "within_task_rd": "x", "rd_ci": [1], "q": {}}])) > 3


def test_get_as_a_table(server: Scripted, bl: Run) -> None:
    found = {"uid": "U1", "status": "succeeded", "summary": SUMMARY, "behaviorPatterns": [PATTERN]}
    server.on("GET /openapi/behavior/tasks/{u}/analysis", of_json(found))
    ran = bl("brm", "get", "--task-id", "U1,U2", "--format", "table")
    assert (ran.code, ran.out.count("check_rate")) == (0, 2)
    server.on("GET /openapi/behavior/tasks/{u}/analysis", of_json({"uid": "U1", "status": "failed", "error": "why", "summary": None}))
    assert bl("brm", "get", "--task-id", "U1", "--format", "table").out == "U1: failed (why)\n"


def test_cancel_shows_the_state_and_names_what_is_not_there(server: Scripted, bl: Run) -> None:
    server.on(
        "POST /openapi/behavior/tasks/{u}/cancel",
        lambda seen: error(404, "no such task") if seen.path_ids["u"] == "BAD" else of_json({"uid": "U1", "status": "cancelled"}),
    )
    ran = bl("brm", "cancel", "--task-id", "U1,BAD")
    assert (ran.code, ran.json) == (1, [{"uid": "U1", "status": "cancelled", "task_id": "U1"}])
    assert ran.err.splitlines()[-1] == "[error]   - BAD: no such task"


@pytest.mark.parametrize("argv", [["cancel"], ["cancel", "--task-id", ".."], ["cancel", "--task-id", "U1", "--wait"]])
def test_wrong_usage_of_cancel_is_2(bl: Run, argv: list[str]) -> None:
    assert bl("brm", *argv).code == 2
