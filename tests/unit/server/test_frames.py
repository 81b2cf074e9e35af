"""The stored form of a trajectory: frames of whole steps that join to the document, and an index that finds every step."""

from __future__ import annotations

import hashlib
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.contract import trajectory
from benchloop_client.contract.compression import BadFrames, decode, frame, zstd
from benchloop_server.features.trajectories.frames import Index, Stored, decode_index, encode_index, frames_of, plain_steps, store
from benchloop_server.features.trajectories.received import Received


def document(messages: list[str]) -> dict[str, object]:
    """A document with one agent step a message; every second one calls a tool."""
    steps: list[dict[str, object]] = []
    for number, message in enumerate(messages):
        step: dict[str, object] = {"step_id": number + 1, "source": "agent", "message": message}
        if number % 2:
            step["tool_calls"] = [{"tool_call_id": "c", "function_name": "bash", "arguments": {}}]
            step["metrics"] = {"prompt_tokens": 10, "completion_tokens": number}
        steps.append(step)
    agent = {"name": "a", "version": "1"}
    return {"schema_version": trajectory.SCHEMA_VERSION, "agent": agent, "steps": steps, "notes": "end"}


def stored(messages: list[str], frame_plain: int = 2000) -> tuple[Stored, bytes, bytes]:
    """(what `store` says, the frames, the document)."""
    value, sink = document(messages), io.BytesIO()
    result = store(value, sink, frame_plain=frame_plain)
    return result, sink.getvalue(), trajectory.encode(value)


@settings(deadline=None)
@given(st.lists(st.text(max_size=400), min_size=1, max_size=30), st.integers(1, 3000))
def test_frames_join_to_the_document(messages: list[str], frame_plain: int) -> None:
    result, frames, plain = stored(messages, frame_plain)
    assert b"{" + b"".join(decode([frames])) == plain
    assert b"".join(decode([frame(b"{") + frames])) == plain
    assert (result.plain_length, result.stored_length) == (len(plain), len(frames))
    assert result.sha256 == hashlib.sha256(frames).hexdigest()


@settings(deadline=None)
@given(st.lists(st.text(max_size=400), min_size=1, max_size=30), st.integers(1, 3000))
def test_every_step_is_found_through_the_index(messages: list[str], frame_plain: int) -> None:
    result, frames, plain = stored(messages, frame_plain)
    index = result.index
    found = []
    for number, each in enumerate(index.frames):
        alone = b"".join(decode([frames[each.stored_offset : each.stored_offset + each.stored_length]]))
        assert len(alone) == each.plain_length
        assert alone == plain[1:][each.plain_offset : each.plain_offset + each.plain_length]
        found += [json.loads(text) for text in plain_steps(index, number, alone)]
    assert found == json.loads(plain)["steps"]


def test_frames_stay_near_their_aim() -> None:
    result, _, _ = stored(["x" * 500] * 100 + ["y" * 9000] + ["z"] * 3)
    sizes = [each.plain_length for each in result.index.frames]
    assert max(sizes) < 9200
    assert sorted(sizes)[-2] <= 2100
    assert len(sizes) < 40


def test_the_index_tells_what_a_step_is() -> None:
    steps = stored(["hello", "b" * 500])[0].index.steps
    assert [(step.step, step.source, step.tools, step.tokens) for step in steps] == [(1, "agent", (), None), (2, "agent", ("bash",), 11)]
    assert steps[0].preview == "hello"
    assert all(len(step.preview) <= 120 for step in steps)


def test_frames_of_a_range_of_steps() -> None:
    index = stored(["x" * 500] * 20)[0].index
    assert frames_of(index, 0, 10**9) == index.frames
    assert frames_of(index, 7, 7) == (index.frames[index.steps[7].frame],)
    assert frames_of(index, 50, 60) == ()


def test_the_index_survives_storage_and_shows_damage() -> None:
    index = stored(["a", "b"])[0].index
    raw = encode_index(index)
    assert decode_index(raw) == index
    with pytest.raises(BadFrames):
        decode_index(raw[:-1])
    with pytest.raises(BadFrames):
        decode_index(frame(b'{"frames":1}'))
    assert isinstance(decode_index(frame(b'{"frames":[],"steps":[]}')), Index)


def _sent(messages: list[str]) -> tuple[dict[str, object], bytes, bytes]:
    """(document, its JSON, the bytes in which the client sends it)."""
    value = document(messages)
    plain = trajectory.encode(value)
    return value, plain, trajectory.packed(plain)


@settings(deadline=None)
@given(st.lists(st.integers(0, 90_000), min_size=1, max_size=12))
def test_what_the_client_packed_is_stored_as_it_came(lengths: list[int]) -> None:
    value, plain, wire = _sent(["m" * length for length in lengths])
    assert b"".join(decode([wire])) == plain
    again, taken = io.BytesIO(), io.BytesIO()
    made = store(value, again)
    assert store(value, taken, received=Received(wire, plain)) == made
    assert wire.endswith(taken.getvalue())


def test_frames_that_are_not_as_they_would_be_stored_are_made_anew() -> None:
    value, plain, _ = _sent(["one", "two"])
    clean = io.BytesIO()
    made = store(value, clean)
    unchecked = zstd.compress(plain[1:], options={zstd.CompressionParameter.checksum_flag: 0})
    for wire in (frame(plain), frame(b"{") + unchecked, frame(b"{") + frame(plain[1:9]) + frame(plain[9:]), b""):
        sink = io.BytesIO()
        assert store(value, sink, received=Received(wire, plain)) == made
        assert sink.getvalue() == clean.getvalue()


def test_a_document_in_another_spelling_is_stored_in_ours() -> None:
    value, _, _ = _sent(["one", "two"])
    spelled = json.dumps(value, indent=1).encode()
    sink = io.BytesIO()
    made = store(value, sink, received=Received(trajectory.packed(spelled), spelled))
    assert b"{" + b"".join(decode([sink.getvalue()])) == trajectory.encode(value)
    assert made == store(value, io.BytesIO())
