"""What the pages of a trajectory are made of: terminal text, windows, the ribbon, circles, steps, searching."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchloop_server.features.trajectories.frames import Step
from benchloop_server.features.trajectories.marks import Call, Marks, circles, marked
from benchloop_server.pages import ansi, steps, trail
from benchloop_server.pages.beside import parting


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("plain", [("", "plain")]),
        ("\x1b[31mred\x1b[0m on", [("a-31", "red"), ("", " on")]),
        ("\x1b[1;32mok\x1b[22m still", [("a-bold a-32", "ok"), ("a-32", " still")]),
        ("\x1b[38;5;9mbright\x1b[39m \x1b[38;2;1;2;3mtrue", [("a-91", "bright"), ("", " true")]),
        ("\x1b[48;5;1mground", [("a-41", "ground")]),
        ("\x1b]8;;https://e.example\x07link\x1b]8;;\x07", [("", "link")]),
        ("a\x1b[2Jb\x1b[10;20Hc\x1b(Bd", [("", "abcd")]),
        ("one\r\ntwo\rthree", [("", "one\ntwo\nthree")]),
        ("\x1b[31", [("", "31")]),
        ("<b>\x1b[31m<script>", [("", "<b>"), ("a-31", "<script>")]),
    ],
)
def test_terminal_text_becomes_runs(text: str, runs: list[tuple[str, str]]) -> None:
    assert ansi.runs(text) == runs


def test_no_terminal_text_leaves_a_control_character() -> None:
    every = "".join(map(chr, range(0x100))) * 3 + "\u202e\x1b[" + "9" * 500 + "m"
    assert all(sign in "\t\n" or (ord(sign) >= 32 and not 127 <= ord(sign) < 160) for sign in ansi.plain(every))


def test_many_changes_of_style_are_bounded() -> None:
    assert len(ansi.runs("\x1b[31ma\x1b[32mb" * 100_000)) <= 2_002


def index(*lengths: int) -> list[Step]:
    return [Step(n + 1, "agent", (), None, None, "", 0, 0, length) for n, length in enumerate(lengths)]


def test_a_window_ends_at_its_number_of_steps_or_bytes() -> None:
    many = index(*[10] * 100)
    assert trail.window(many, 0) == (0, trail.WINDOW - 1)
    assert trail.window(many, 95) == (95, 99)
    assert trail.window(many, 500) == (99, 99)
    assert trail.window_before(many, 49) == (50 - trail.WINDOW, 49)
    large = index(*[trail.WINDOW_BYTES // 2] * 6)
    assert trail.window(large, 1) == (1, 2) and trail.window_before(large, 3) == (2, 3)
    assert trail.window(index(10**9), 0) == (0, 0)


@pytest.mark.parametrize("middle", [0, 1, 50, 98, 99])
def test_a_window_around_a_step_holds_it(middle: int) -> None:
    for steps_of in (index(*[10] * 100), index(*[trail.WINDOW_BYTES] * 100)):
        first, last = trail.window_around(steps_of, middle)
        assert first <= middle <= last and last - first < trail.WINDOW


def test_windows_one_after_another_leave_no_step_out() -> None:
    many = index(*[1_000 * (n % 90) for n in range(700)])
    first, seen = 0, []
    while first < len(many):
        first, last = trail.window(many, first)
        seen += range(first, last + 1)
        first = last + 1
    assert seen == list(range(700))


def test_circles_of_one_and_of_several_acts_are_found() -> None:
    acts = [(0, "a"), (1, "b"), (2, "b"), (3, "b"), (4, "c"), (5, "x"), (6, "y"), (7, "x"), (8, "y"), (9, "x"), (10, "y"), (11, "z")]
    assert list(circles(acts)) == [(1, 3), (5, 10)]
    assert list(circles([(0, "a"), (1, "a"), (2, "b")])) == []
    assert list(circles([])) == []


def step_of(number: int, command: str, output: str, **extra: Any) -> dict[str, Any]:
    call = {"tool_call_id": f"c{number}", "function_name": "bash", "arguments": {"command": command}}
    result = {"source_call_id": f"c{number}", "content": output, "extra": extra}
    return {"step_id": number, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}}


def test_marks_tell_phases_errors_and_circles() -> None:
    documents = [
        {"step_id": 1, "source": "user", "message": "go"},
        step_of(2, "cat a.py", "x = 1"),
        step_of(3, "sed -i s/1/2/ a.py", ""),
        step_of(4, "pytest", "1 failed", is_error=True),
        *(step_of(n, "ls", "a.py") for n in (5, 6, 7)),
    ]
    found = marked(range(1, 8), documents)
    assert found.phases[:4] == ".EIV" and found.errors == (3,) and found.loops == ((4, 6),) and found.first_error == 3


def test_the_ribbon_covers_the_whole_way_and_joins_ticks() -> None:
    marks = Marks("E" * 5_000 + "I" * 5_000, tuple(range(100)), ((10, 20),), (), 0)
    drawn = trail.ribbon(marks)
    assert [(one.phase, one.x, one.width) for one in drawn.bins] == [("E", 0, 500.0), ("I", 500.0, 500.0)]
    assert len(drawn.errors) == 5 and drawn.loops == [(1.0, 1.1, 10, 20)]
    assert trail.ribbon(Marks("", (), (), (), 0)).bins == []


def test_a_step_is_shown_with_its_calls_on_one_line() -> None:
    raw = msgspec.json.encode(step_of(4, "pytest -q\n  tests", "1 failed", exit_code=1, is_error=True))
    shown = steps.step(raw, 3)
    (call,) = shown.calls
    assert (call.name, call.line, call.is_error, call.size) == ("bash", "pytest -q tests", True, 8)
    assert shown.is_error and shown.loose == []


def test_a_cut_text_says_so() -> None:
    shown = steps.text("ü" * 100, 40)
    assert shown is not None and (shown.left, shown.size) == (60, 200)
    assert steps.text("  \n") is None


@pytest.mark.parametrize(("kind", "shows"), [("image/png", True), ("image/svg+xml", False), ("text/html", False)])
def test_only_safe_images_that_came_along_are_shown(kind: str, shows: bool) -> None:
    part = {"type": "image", "source": {"media_type": kind, "path": "a"}}
    media = {"media": [{"path": "a", "trace_media": {"oss_uri": "blmedia/j/0/a", "mime_type": kind}}]}
    raw = {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "see"}, part]}
    (with_file,) = steps.step(msgspec.json.encode({**raw, "extra": media}), 0).media
    (without,) = steps.step(msgspec.json.encode(raw), 0).media
    assert with_file.image is shows and not without.image and without.uri is None


def test_searching_finds_what_json_writes_otherwise() -> None:
    raw = msgspec.json.encode(step_of(9, 'echo "Näh"\ttab', "line one\nStraße two"))
    for wanted, where in (('"näh"', "bash"), ("one\nstr", "result"), ("STRASSE", None), ("straße", "result"), ("absent", None)):
        hits = list(trail.hits(raw, 8, wanted))
        assert [hit.where for hit in hits] == ([where] if where else []), wanted
    assert next(trail.hits(raw, 8, "straße")).match == "Straße"


def test_two_runs_part_at_the_first_call_that_differs() -> None:
    a, b, c = (Call(1, name, name, False) for name in "abc")
    assert parting([a, b, c], [a, b]) == 2 and parting([a], [b]) == 0 and parting([], [a]) == 0
