"""The short way of normalising a step gives what the long way gives, to the byte, or leaves the step to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.contract.trajectory.keeping import Notes
from benchloop_client.contract.trajectory.normal import _mended_step
from benchloop_client.contract.trajectory.plain import plain_step

_words = st.sampled_from(["", "a", "call-1", "2026-01-01T00:00:00Z", "é"])
_any = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False, allow_infinity=False, width=16) | _words
_extra = st.none() | st.dictionaries(st.sampled_from(["k", "extra"]), _any, max_size=2)
_source = st.fixed_dictionaries(
    {"media_type": st.sampled_from(["image/png", "Image/PNG", "audio/wav"]), "path": _words}, optional={"duration_sec": _any}
)
_part = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio"])}, optional={"text": _words | st.none(), "source": _source}
)
_content = _words | st.lists(_part, max_size=2)
_call = st.fixed_dictionaries(
    {"function_name": _words, "tool_call_id": _words},
    optional={"arguments": st.dictionaries(_words, _any, max_size=2) | _words, "extra": _extra},
)
_ref = st.fixed_dictionaries({}, optional={"trajectory_id": _words | st.none(), "session_id": _words, "extra": _extra})
_result = st.fixed_dictionaries(
    {},
    optional={
        "content": _content | st.none(),
        "source_call_id": _words,
        "subagent_trajectory_ref": st.lists(_ref, max_size=2),
        "extra": _extra,
    },
)
_metrics = st.fixed_dictionaries(
    {},
    optional={
        "cost_usd": _any,
        "prompt_tokens": _any,
        "completion_token_ids": st.lists(st.integers(0, 9), max_size=2),
        "logprobs": st.lists(_any, max_size=2),
        "extra": _extra,
    },
)
_step = st.fixed_dictionaries(
    {"message": _content, "source": st.sampled_from(["agent", "user", "assistant"])},
    optional={
        "step_id": st.sampled_from([1, 1, 2, "1", None]),
        "timestamp": _words | st.none(),
        "model_name": _words | st.none(),
        "reasoning_effort": _any,
        "reasoning_content": _words,
        "tool_calls": st.lists(_call, max_size=2),
        "observation": st.fixed_dictionaries({"results": st.lists(_result, max_size=2)}) | _words,
        "metrics": _metrics,
        "llm_call_count": _any,
        "is_copied_context": _any,
        "extra": _extra,
        "other": _any,
    },
)


@settings(deadline=None, max_examples=600)
@given(_step)
def test_both_ways_give_the_same_bytes(step: dict[str, Any]) -> None:
    before, notes = msgspec.json.encode(step), Notes()
    short, long = plain_step(step, 1), _mended_step(step, 1, notes)
    assert short is None or (msgspec.json.encode(short) == msgspec.json.encode(long) and not notes.lossy)
    assert msgspec.json.encode(step) == before


def test_an_ordinary_step_takes_the_short_way() -> None:
    step = {
        "source": "agent",
        "step_id": 3,
        "message": "",
        "metrics": {"cost_usd": 1, "prompt_tokens": 9, "extra": None},
        "tool_calls": [{"function_name": "bash", "tool_call_id": "c", "arguments": {"command": "ls"}}],
        "observation": {"results": [{"content": "file", "source_call_id": "c"}]},
        "extra": None,
    }
    assert msgspec.json.encode(plain_step(step, 3)) == msgspec.json.encode(_mended_step(step, 3, Notes()))


@pytest.mark.parametrize(
    "change", [{"step_id": 2}, {"extra": {}}, {"tool_calls": []}, {"more": 1}, {"metrics": {"extra": {}}}, {"source": "ai"}]
)
def test_anything_else_is_left_to_the_long_way(change: dict[str, Any]) -> None:
    assert plain_step({"step_id": 1, "source": "agent", "message": "m"}, 1) is not None
    assert plain_step({"step_id": 1, "source": "agent", "message": "m", **change}, 1) is None
