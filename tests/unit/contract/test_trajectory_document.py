"""Loading bytes, strict reading, stamps, splitting, media and counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchloop_client.contract import trajectory as t


def made(**more: Any) -> dict[str, Any]:
    steps = [
        {"source": "user", "message": "do"},
        {"source": "agent", "message": "…", "metrics": {"prompt_tokens": 10, "completion_tokens": 2, "cost_usd": 0.5}},
        {"source": "agent", "message": "done"},
    ]
    return t.normalise({"agent": {"name": "a", "version": "1"}, "steps": steps, **more}).document


@pytest.mark.parametrize(
    ("raw", "value", "lossy"),
    [
        (b'{"a": 1}', {"a": 1}, []),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, []),
        (b'"\\ud83d\\ude00"', "😀", []),
        (b'"cut \\ud83d"', "cut \ufffd", ["surrogates"]),
        (b"[NaN, Infinity, 1e999]", [None, None, None], ["non_finite_numbers"]),
        (b'"\xff"', "\ufffd", ["invalid_utf8"]),
        (b'"tab\there"', "tab\there", []),
        (b"[NaN, 123456789012345678901234567890]", [None, "123456789012345678901234567890"], ["huge_integers", "non_finite_numbers"]),
    ],
)
def test_load_mends_what_real_files_hold(raw: bytes, value: Any, lossy: list[str]) -> None:
    assert t.load(raw) == (value, lossy)


def test_load_survives_numbers_of_any_length() -> None:
    value, lossy = t.load(b"[NaN, " + b"9" * 10_000 + b"]")
    assert value[1] == "9" * 10_000 and "huge_integers" in lossy


@pytest.mark.parametrize("raw", [b"", b"{", b"nope", b'{"a": }', b"{} {}"])
def test_load_refuses_what_is_not_json(raw: bytes) -> None:
    with pytest.raises(t.InvalidTrajectory, match="not JSON"):
        t.load(raw)


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_load_refuses_what_is_too_deep(depth: int) -> None:
    with pytest.raises(t.InvalidTrajectory):
        t.normalise(t.load(b"[" * depth + b"]" * depth)[0])


def test_split_is_the_document_in_pieces() -> None:
    child = made(trajectory_id="sub")
    document = t.stamp(made(subagent_trajectories=[child], notes="n"), job_id="J", group_id="G", task_id="T")
    head, steps, tail = t.split(document)
    assert head.endswith(b'"steps":[') and tail.startswith(b"]") and len(steps) == 3
    assert head + b",".join(steps) + tail == t.encode(document)
    assert json.loads(t.encode(document)) == document
    assert b"\n" not in t.encode(document) and t.encode(document).startswith(b'{"schema_version"')


def test_split_does_not_depend_on_the_order_of_keys() -> None:
    document = made()
    shuffled = dict(reversed(list(document.items())))
    assert t.encode(shuffled) == t.encode(document) and t.split(shuffled) == t.split(document)


def test_a_stamp_names_the_job_and_keeps_the_documents_own_id() -> None:
    document = t.stamp(made(trajectory_id="own", extra={"a": 1}), job_id="J", group_id="G", task_id="T")
    assert document["trajectory_id"] == "J" and t.stamped(document) == t.Stamp("J", "G", "T")
    assert document["extra"]["a"] == 1 and document["extra"]["benchloop"]["source_trajectory_id"] == "own"
    again = t.stamp(document, job_id="J2", group_id="G2", task_id="T")
    assert again["extra"]["benchloop"] == {"job_id": "J2", "group_id": "G2", "task_id": "T", "source_trajectory_id": "own"}
    t.decode_strict(t.encode(again))


def test_stamping_twice_changes_nothing() -> None:
    once = t.stamp(made(), job_id="J", group_id="G", task_id="T")
    assert t.stamp(once, job_id="J", group_id="G", task_id="T") == once
    assert once["extra"]["benchloop"] == {"job_id": "J", "group_id": "G", "task_id": "T"}
    assert t.normalise(once).document == once


@pytest.mark.parametrize("mark", ["text", {"job_id": "J"}, {"job_id": "X", "group_id": "G", "task_id": "T"}, None])
def test_what_is_no_stamp(mark: Any) -> None:
    assert t.stamped({"trajectory_id": "J", "extra": {"benchloop": mark}}) is None
    stamped = t.stamp(made(extra={"benchloop": mark}), job_id="J", group_id="G", task_id="T")
    assert t.stamped(stamped) == t.Stamp("J", "G", "T")


def _broken(**change: Any) -> bytes:
    return json.dumps({**made(), **change}).encode()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"{", "not strict JSON"),
        (b"[]", "not ATIF"),
        (_broken(schema_version="ATIF-v1.5"), "schema_version"),
        (_broken(steps=[]), "steps"),
        (_broken(unknown=1), "unknown"),
        (_broken(steps=[{"step_id": 2, "source": "user", "message": "m"}]), "step_id is 2"),
        (_broken(steps=[{"step_id": 1, "source": "user", "message": "m", "model_name": "x"}]), "model_name"),
        (_broken(steps=[{"step_id": 1, "source": "user", "message": "m", "timestamp": "now"}]), "ISO 8601"),
        (_broken(steps=[{"step_id": 1, "source": "agent", "message": [{"type": "text"}]}]), "whole text part"),
        (_broken(steps=[{"step_id": 1, "source": "agent", "message": "", "llm_call_count": 0, "metrics": {}}]), "metrics"),
        (_broken(subagent_trajectories=[made()]), "trajectory_id"),
        (_broken(extra={"a": 2**80}), "huge_integers"),
        (_broken(extra={"a": json.loads("[" * 150 + "]" * 150)}), "deeper"),
    ],
)
def test_strict_reading_refuses(raw: bytes, says: str) -> None:
    with pytest.raises(t.InvalidTrajectory, match=says):
        t.decode_strict(raw)


def _with_image(path: str = "images/a.png") -> dict[str, Any]:
    image = {"type": "image", "source": {"media_type": "image/png", "path": path}}
    steps = [
        {"source": "user", "message": [{"type": "text", "text": "see"}, image]},
        {"source": "agent", "message": "", "observation": {"results": [{"content": [image]}]}},
    ]
    return made(steps=steps, subagent_trajectories=[{"trajectory_id": "s", "steps": steps}])


def test_media_is_found_once_and_referenced_in_each_step() -> None:
    document = _with_image()
    assert t.media_parts(document) == [t.MediaPart("images/a.png", "image/png")]
    shown = t.with_media(document, {"images/a.png": ("blmedia/J/00/a.png", "image/png")})
    entry = {"path": "images/a.png", "trace_media": {"oss_uri": "blmedia/J/00/a.png", "mime_type": "image/png"}}
    assert all(step["extra"]["media"] == [entry] for step in shown["steps"])
    assert shown["subagent_trajectories"][0]["steps"][0]["extra"]["media"] == [entry]
    assert t.with_media(shown, {"images/a.png": ("blmedia/J/00/a.png", "image/png")}) == shown
    t.decode_strict(t.encode(shown))
    assert t.with_media(document, {}) == document and "extra" not in document["steps"][0]


def test_counts_leave_out_copied_steps_and_unknown_is_none() -> None:
    steps = [
        {"source": "agent", "message": "", "metrics": {"prompt_tokens": 100}, "is_copied_context": True},
        {"source": "agent", "message": "", "metrics": {"prompt_tokens": 7, "completion_tokens": 3}, "reasoning_content": "abc"},
        {
            "source": "agent",
            "message": "",
            "reasoning_content": "abc",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c", "content": "x", "extra": {"is_error": True}}]},
        },
    ]
    counted = t.counts(made(steps=steps))
    assert (counted.n_steps, counted.n_agent_steps, counted.n_tool_calls, counted.n_tool_errors) == (3, 2, 1, 1)
    assert (counted.prompt_tokens, counted.completion_tokens, counted.cached_tokens, counted.context_peak) == (7, 3, None, 10)
    assert (counted.n_llm_calls, counted.thinking_chars, counted.cost) == (1, 3, None)
    assert counted.tools == {"f": 1}


def test_counts_take_the_documents_totals_where_no_step_has_any() -> None:
    document = made(steps=[{"source": "agent", "message": "m"}], final_metrics={"total_prompt_tokens": 9, "total_cost_usd": 0.1})
    counted = t.counts(document)
    assert (counted.prompt_tokens, counted.cost, counted.context_peak, counted.n_tool_errors) == (9, 0.1, None, None)


def test_a_preview_is_one_short_line() -> None:
    call = {"tool_call_id": "c", "function_name": "shell", "arguments": {}}
    assert t.step_preview({"message": "two\nlines"}) == "two lines"
    assert t.step_preview({"message": "", "tool_calls": [call]}) == "shell"
    assert t.step_preview({"message": "", "observation": {"results": [{"content": "seen"}]}}) == "seen"
    assert len(t.step_preview({"message": "x" * 5000})) == 160
