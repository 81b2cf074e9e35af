"""From steps to events: calls with their results, errors, exit codes, times and phases."""

from __future__ import annotations

from typing import Any

import pytest

from benchloop_analysis.events import iterate, read_trajectory, seconds_of
from benchloop_analysis.records import Event, Trajectory
from tests.unit.analysis.small import call, job, say, sh


def read(*steps: dict[str, Any], **more: Any) -> Trajectory:
    document = job(*steps, **more).document
    assert document is not None
    return read_trajectory(document)


def one(step: dict[str, Any]) -> Event:
    return read(step).events[1]


def test_a_call_and_its_result() -> None:
    event = one(sh("cat src/a.py", "text"))
    assert (event.step_id, event.kind, event.tool, event.call, event.result) == (2, "read", "Bash", 0, 0)
    assert (event.command, event.command_field, event.paths) == ("cat src/a.py", "command", ("src/a.py",))
    assert (event.output, event.output_field, event.is_error) == ("text", "observation.results[0].content", False)


def test_results_find_their_calls_by_id() -> None:
    calls = [{"tool_call_id": name, "function_name": "Bash", "arguments": {"command": name}} for name in ("a", "b")]
    results = [{"source_call_id": name, "content": f"of {name}"} for name in ("b", "a")]
    events = read({"source": "agent", "message": "Both.", "tool_calls": calls, "observation": {"results": results}}).events[1:]
    assert [(event.command, event.output, event.result, event.text) for event in events] == [
        ("a", "of a", 1, "Both."),
        ("b", "of b", 0, ""),
    ]


def test_a_call_that_nothing_answered() -> None:
    event = one(sh("ls", None))
    assert (event.output, event.result, event.is_error) == (None, None, False)


@pytest.mark.parametrize(
    ("output", "failed", "found"),
    [
        ("Exit code 127\nbash: foo: command not found", True, ("command_not_found", 127)),
        ("Exit code 137", True, ("killed", 137)),
        ("Exit code 1", True, ("failed", 1)),
        ("<returncode>2</returncode>\nTraceback (most recent call last):\nX", None, ("exception", 2)),
        ("Process exited with code 0", None, (None, 0)),
        ("Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'", None, ("import", None)),
        ("Error: no such order", None, ("exception", None)),
        ("cat: x: No such file or directory", False, (None, None)),
        ("the log says: No such file or directory", None, (None, None)),
        ("No space left on device", None, ("disk_full", None)),
    ],
)
def test_errors_and_exit_codes(output: str, failed: bool | None, found: tuple[str | None, int | None]) -> None:
    event = one(sh("x", output, failed=failed))
    assert (event.error_class, event.exit_code) == found
    assert event.is_error == (found[0] is not None)


def test_the_line_of_an_error_and_its_signature() -> None:
    output = "Exit code 1\nsome words\nFileNotFoundError: [Errno 2] No such file or directory: '/app/run-17/a.txt'\nmore"
    event = one(sh("x", output, failed=True))
    assert event.error_at is not None
    assert output[event.error_at :].startswith("FileNotFoundError")
    assert event.signature == "FileNotFoundError: [Errno <n>] No such file or directory: <text>"


def test_an_error_deep_in_a_long_output_is_found_at_its_place() -> None:
    output = "x" * 10_000 + "\nİ ModuleNotFoundError: No module named 'y'\n"
    event = one(sh("x", output, failed=True))
    assert event.error_class == "import"
    assert output[event.error_at or 0 :].startswith("İ ModuleNotFoundError")


def test_a_cut_output_is_marked() -> None:
    assert one(sh("x", "a" * 2000 + "\n[truncated 50 lines]")).truncated
    assert not one(sh("x", "a" * 2000)).truncated


def test_equal_calls_have_equal_keys() -> None:
    keys = [one(step).key for step in (sh("ls  -l\n"), sh("ls -l"), sh("ls -a"), call("Read", path="ls -l"))]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_seconds_last_to_the_next_step() -> None:
    events = read(sh("a"), sh("b"), seconds=5).events
    assert [event.seconds for event in events] == [5.0, 5.0, None]
    assert read(sh("a"), sh("b"), seconds=5).seconds == 10.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10.25Z", 10.25),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00.5-00:30", 1800.5),
        ("1970-01-01", 0.0),
        ("1970-01-01T00:00:10", 10.0),
        ("soon", None),
        ("2026-13-01T00:00:00Z", None),
        (None, None),
    ],
)
def test_times(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def test_copied_steps_are_left_out() -> None:
    steps = [{**say("old"), "step_id": 1, "is_copied_context": True}, {**say("new"), "step_id": 2}]
    assert [event.text for event in iterate(steps)] == ["new"]


def test_the_phase_depends_on_what_was_done_before() -> None:
    steps = [sh("cat a.py"), sh("pytest"), call("Edit", file_path="/x/a.py"), sh("pytest"), sh("cat a.py"), sh("cat b.py"), sh("sleep 1")]
    run = read(*steps)
    assert [event.phase for event in run.events[1:]] == ["E", "E", "I", "V", "V", "E", "O"]
    assert (run.phases, run.first_change_step) == ("EIVE", 4)


def test_a_change_that_the_shell_refused_is_none() -> None:
    refused = sh("cat > a.py <<", "Exit code 2\nbash: syntax error near unexpected token `newline'", failed=True)
    assert read(refused, sh("touch b.py", "")).first_change_step == 3


def test_the_sums() -> None:
    run = read(sh("ls"), sh("x", "Exit code 1", failed=True), say("Done."), task="Do.")
    assert (run.instruction, run.instruction_step, run.n_steps, run.n_agent_steps) == ("Do.", 1, 4, 3)
    assert (run.n_calls, run.n_errors, run.kinds, run.tools) == (2, 1, {"list": 1, "other": 1}, {"Bash": 2})


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Read", "read"),
        ("mcp__files__write_file", "write"),
        ("get_order_details", "read"),
        ("cancel_reservation", "write"),
        ("searchDirectFlight", "search"),
        ("transfer_to_human_agents", "ask"),
        ("think", "plan"),
        ("frobnicate", "other"),
    ],
)
def test_tools_by_name(tool: str, kind: str) -> None:
    assert one(call(tool, a=1)).kind == kind


def test_one_tool_that_does_several_things() -> None:
    kinds = [one(call("str_replace_editor", command=name, path="/a.py")).kind for name in ("view", "create", "str_replace")]
    assert kinds == ["read", "write", "edit"]


def test_a_command_given_as_a_list() -> None:
    event = one(call("shell", command=["bash", "-lc", "pytest -q"]))
    assert (event.command, event.kind) == ("pytest -q", "test")
