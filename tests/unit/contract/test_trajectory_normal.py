"""Lenient in, strict out: what broken documents become, judged by our checker and, where installed, by the `atif` package."""

from __future__ import annotations

import copy
import importlib.util
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchloop_client.contract import trajectory as t

atif = pytest.importorskip("atif") if importlib.util.find_spec("atif") else None


def valid(value: Any) -> dict[str, Any]:
    """The normal form of `value`, found valid by both judges and stable."""
    normal = t.normalise(copy.deepcopy(value))
    raw = t.encode(normal.document)
    assert t.decode_strict(raw) == normal.document
    assert t.normalise(normal.document).document == normal.document
    if atif is not None:
        atif.Trajectory.model_validate(normal.document, strict=True)
        atif.Trajectory.model_validate_json(raw, strict=True)
    return normal.document


def lossy(value: Any) -> set[str]:
    return set(t.normalise(value).lossy)


def doc(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"schema_version": "ATIF-v1.5", "agent": {"name": "a", "version": "1"}, "steps": list(steps), **more}


def agent(**more: Any) -> dict[str, Any]:
    return {"step_id": 1, "source": "agent", "message": "m", **more}


def test_a_clean_document_changes_only_its_version() -> None:
    value = doc(agent(metrics={"prompt_tokens": 3}), final_metrics={"total_steps": 1}, session_id="s")
    document = valid(value)
    assert document["steps"] == [agent(metrics={"prompt_tokens": 3})]
    assert document["schema_version"] == "ATIF-v1.8" and document["extra"] == {"source_schema_version": "ATIF-v1.5"}
    assert lossy(value) == set()


def test_unknown_keys_are_kept_at_every_level() -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": {}, "x4": 4}
    result = {"source_call_id": "c", "content": "ok", "x5": 5}
    step = agent(tool_calls=[call], observation={"results": [result], "x6": 6}, metrics={"x7": 7}, x3=3)
    document = valid({**doc(step, x1=1, final_metrics={"x8": 8}), "agent": {"name": "a", "version": "1", "x2": 2}})
    made = document["steps"][0]
    assert document["extra"]["x1"] == 1 and document["agent"]["extra"] == {"x2": 2} and document["final_metrics"]["extra"] == {"x8": 8}
    assert made["extra"] == {"x3": 3, "observation": {"x6": 6}}
    assert made["tool_calls"][0]["extra"] == {"x4": 4} and made["observation"]["results"][0]["extra"] == {"x5": 5}
    assert made["metrics"]["extra"] == {"x7": 7}


def test_an_extra_that_is_no_object_and_a_key_taken_twice_are_kept() -> None:
    document = valid(doc(agent(extra="text"), agent(extra={"color": 1}, color=2)))
    assert document["steps"][0]["extra"] == {"extra": "text"}
    assert document["steps"][1]["extra"]["color"] == 1 and document["steps"][1]["extra"]["color_"] == 2


def test_steps_are_renumbered_and_remember_their_number() -> None:
    document = valid(doc(agent(step_id=7), agent(step_id="x"), agent(step_id=3), agent()))
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3, 4]
    assert [step.get("extra", {}).get("source_step_id") for step in document["steps"]] == [7, "x", None, 1]
    assert "step_ids_renumbered" in lossy(doc(agent(step_id=7)))


def test_a_result_that_answers_no_call_of_its_step_says_so() -> None:
    results = [{"source_call_id": "c", "content": "1"}, {"source_call_id": "other", "content": "2"}]
    step = agent(tool_calls=[{"tool_call_id": "c", "function_name": "f", "arguments": {}}], observation={"results": results})
    document = valid(doc(step, {"source": "system", "message": "", "observation": {"results": [{"source_call_id": "c"}]}}))
    first, second = document["steps"]
    assert first["observation"]["results"][0]["source_call_id"] == "c"
    assert first["observation"]["results"][1] == {"content": "2", "extra": {"source_call_id": "other"}}
    assert second["observation"]["results"] == [{"extra": {"source_call_id": "c"}}]


@pytest.mark.parametrize(
    ("given_arguments", "arguments", "kept"),
    [
        ('{"a": 1}', {"a": 1}, None),
        (None, {}, None),
        ({"a": [1]}, {"a": [1]}, None),
        ("plain text", {}, "plain text"),
        ("[1]", {}, "[1]"),
        ('{"a": NaN}', {}, '{"a": NaN}'),
        (5, {}, 5),
    ],
)
def test_arguments_become_an_object_or_are_kept(given_arguments: Any, arguments: Any, kept: Any) -> None:
    call = {"tool_call_id": "c", "function_name": "f", "arguments": given_arguments}
    made = valid(doc(agent(tool_calls=[call])))["steps"][0]["tool_calls"][0]
    assert made["arguments"] == arguments and made.get("extra", {}).get("arguments") == kept


def test_calls_of_the_chat_shape_are_understood() -> None:
    call = {"id": "call-9", "function": {"name": "look", "arguments": '{"at": "x"}'}}
    step = agent(tool_calls=[call], observation={"results": [{"source_call_id": "call-9", "content": "seen"}]})
    made = valid(doc(step))["steps"][0]
    assert made["tool_calls"] == [{"tool_call_id": "call-9", "function_name": "look", "arguments": {"at": "x"}}]
    assert made["observation"]["results"][0]["source_call_id"] == "call-9"


def test_what_only_the_agent_may_have_moves_aside_on_other_steps() -> None:
    own = {"model_name": "m", "reasoning_content": "r", "metrics": {"prompt_tokens": 1}, "reasoning_effort": "high"}
    calls = [{"tool_call_id": "c", "function_name": "f", "arguments": {}}]
    document = valid(doc({"source": "user", "message": "hi", "tool_calls": calls, **own}))
    step = document["steps"][0]
    assert set(step) == {"step_id", "source", "message", "extra"}
    assert step["extra"] == {"tool_calls": calls, **own}


def test_a_step_without_a_model_call_has_no_model_metrics() -> None:
    step = valid(doc(agent(llm_call_count=0, metrics={"prompt_tokens": 1}, reasoning_content="r")))["steps"][0]
    assert "metrics" not in step and step["extra"] == {"metrics": {"prompt_tokens": 1}, "reasoning_content": "r"}


@pytest.mark.parametrize(
    ("source", "made"),
    [("assistant", "agent"), ("human", "user"), ("environment", "system"), (None, "system"), (3, "system"), ("agent", "agent")],
)
def test_sources_by_other_names(source: Any, made: str) -> None:
    step = valid(doc({"source": source, "message": "m"}))["steps"][0]
    assert step["source"] == made and step.get("extra", {}).get("source") == (None if source == made else source)


@pytest.mark.parametrize("moment", ["2026-01-02T03:04:05.123Z", "2026-01-02 03:04:05", "2026-01-02T03:04:05+02:00", "2026-01-02"])
def test_good_times_stay_as_they_are(moment: str) -> None:
    assert valid(doc(agent(timestamp=moment)))["steps"][0]["timestamp"] == moment


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01T00:00:00Z", "2026-02-30", "", [1], True, -5])
def test_bad_times_are_kept_aside(moment: Any) -> None:
    step = valid(doc(agent(timestamp=moment)))["steps"][0]
    assert "timestamp" not in step and step["extra"]["timestamp"] == moment


@pytest.mark.parametrize("moment", [1767323045, 1767323045.0, 1767323045000])
def test_times_as_numbers_are_read(moment: float) -> None:
    step = valid(doc(agent(timestamp=moment)))["steps"][0]
    assert step["timestamp"] == "2026-01-02T03:04:05.000000Z" and step["extra"]["timestamp"] == moment


def test_images_and_parts_of_unknown_kinds() -> None:
    image = {"type": "image", "source": {"media_type": "image/jpg", "path": "i.jpg", "width": 3}}
    parts = [
        {"type": "text", "text": "t", "id": 1},
        image,
        {"type": "tool_use", "name": "n"},
        "bare",
        {"type": "image", "source": {"path": 1}},
    ]
    step = valid(doc({"source": "user", "message": parts}))["steps"][0]
    kinds = [part["type"] for part in step["message"]]
    assert kinds == ["text", "image", "text", "text", "text"]
    assert step["message"][1]["source"] == {"media_type": "image/jpeg", "path": "i.jpg"}
    assert step["message"][2]["text"] == '{"type":"tool_use","name":"n"}' and step["message"][3]["text"] == "bare"
    assert step["extra"]["message_parts"] == {"0": {"id": 1}, "1": {"source": {"width": 3}}}


@pytest.mark.parametrize("seen", ["text", [{"content": "text"}], {"content": "text"}, {"results": [{"content": "text"}]}, ["text"]])
def test_observations_of_any_shape_have_results(seen: Any) -> None:
    assert valid(doc(agent(observation=seen)))["steps"][0]["observation"] == {"results": [{"content": "text"}]}


def test_metrics_that_are_no_numbers_are_kept_aside() -> None:
    metrics = {"prompt_tokens": "12", "completion_tokens": 12.0, "cached_tokens": 1.5, "cost_usd": True, "logprobs": [1, "x"]}
    made = valid(doc(agent(metrics={**metrics, "prompt_token_ids": [1, 2], "completion_token_ids": [1, 2.5]})))["steps"][0]["metrics"]
    assert made["completion_tokens"] == 12 and made["prompt_token_ids"] == [1, 2]
    kept = {"prompt_tokens": "12", "cached_tokens": 1.5, "cost_usd": True, "logprobs": [1, "x"], "completion_token_ids": [1, 2.5]}
    assert made["extra"] == kept


def test_subagents_get_ids_of_their_own() -> None:
    child = doc(agent())
    value = doc(agent(), subagent_trajectories=[child, {**child, "trajectory_id": "c"}, {**child, "trajectory_id": "c"}, "no document"])
    document = valid(value)
    ids = [one["trajectory_id"] for one in document["subagent_trajectories"]]
    assert len(set(ids)) == 3 and ids[1] == "c"
    assert document["subagent_trajectories"][2]["extra"]["source_trajectory_id"] == "c"
    assert document["extra"]["subagent_trajectories"] == ["no document"]


def test_references_to_nowhere_are_kept_aside() -> None:
    refs = [{"session_id": "s"}, {"trajectory_path": "x.json", "more": 1}]
    result = valid(doc(agent(observation={"results": [{"subagent_trajectory_ref": refs}]})))["steps"][0]["observation"]["results"][0]
    assert result["subagent_trajectory_ref"] == [{"trajectory_path": "x.json", "extra": {"more": 1}}]
    assert result["extra"]["subagent_trajectory_ref"] == [{"session_id": "s"}]


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, {"steps": None}, {"steps": []}, {"steps": "x"}])
def test_what_is_no_trajectory_is_refused(value: Any) -> None:
    with pytest.raises(t.InvalidTrajectory):
        t.normalise(value)


def test_a_missing_agent_and_steps_that_are_no_objects() -> None:
    document = valid({"steps": ["a line", None, 5]})
    assert document["agent"] == {"name": "unknown", "version": "unknown"}
    assert [step["message"] for step in document["steps"]] == ["a line", "", "5"]


def test_surrogates_nan_and_huge_numbers_are_mended_and_named() -> None:
    value = doc(agent(message="cut \ud83d", a=float("nan"), b=float("inf"), c=2**70, **{"k\udc00": 1}))
    step = valid(value)["steps"][0]
    assert step["message"] == "cut \ufffd" and step["extra"] == {"a": None, "b": None, "c": str(2**70), "k\ufffd": 1}
    assert lossy(value) == {"surrogates", "non_finite_numbers", "huge_integers"}


def nested(depth: int) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


def test_too_deep_is_refused_by_name() -> None:
    assert valid(doc(agent(x=nested(90))))
    for depth in (125, 200, 3000):
        with pytest.raises(t.TooDeep):
            t.normalise(doc(agent(x=nested(depth))))


def test_text_arguments_cannot_make_a_document_too_deep_to_read() -> None:
    inner = '{"a":' * 31 + "1" + "}" * 31
    call = {"tool_call_id": "c", "function_name": "f", "arguments": inner}
    value: Any = doc(agent(tool_calls=[call]))
    for _ in range(40):
        value = doc(agent(), subagent_trajectories=[value])
    valid(value)
    for _ in range(20):
        value = doc(agent(), subagent_trajectories=[value])
    with pytest.raises(t.TooDeep):
        t.normalise(value)


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]), max_size=8)
    | st.sampled_from(["agent", "user", "text", "image", "audio", "image/png", "2026-01-01T00:00:00Z", "c"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
part = st.fixed_dictionaries({}, optional={"type": json_like, "text": json_like, "source": json_like})
result = st.fixed_dictionaries(
    {},
    optional={
        "source_call_id": json_like,
        "content": st.lists(part, max_size=2) | json_like,
        "subagent_trajectory_ref": json_like,
        "extra": json_like,
    },
)
call = st.fixed_dictionaries(
    {}, optional={"tool_call_id": json_like, "function_name": json_like, "arguments": json_like, "function": json_like, "id": json_like}
)
step_like = st.fixed_dictionaries(
    {},
    optional={
        "step_id": json_like,
        "timestamp": json_like,
        "source": json_like,
        "message": st.lists(part, max_size=2) | json_like,
        "tool_calls": st.lists(call | json_like, max_size=2) | json_like,
        "observation": st.fixed_dictionaries({"results": st.lists(result | json_like, max_size=2)}) | json_like,
        "metrics": st.dictionaries(st.sampled_from(["prompt_tokens", "cost_usd", "logprobs", "extra"]), json_like) | json_like,
        "llm_call_count": json_like,
        "reasoning_content": json_like,
        "reasoning_effort": json_like,
        "extra": json_like,
        "is_copied_context": json_like,
    },
)
document_like = st.fixed_dictionaries(
    {"steps": st.lists(step_like | json_like, max_size=3)},
    optional={
        "agent": st.dictionaries(st.sampled_from(["name", "version", "tool_definitions", "extra"]), json_like) | json_like,
        "schema_version": json_like,
        "trajectory_id": json_like,
        "final_metrics": json_like,
        "extra": json_like,
        "subagent_trajectories": st.lists(st.fixed_dictionaries({"steps": st.lists(step_like, max_size=1)}) | json_like, max_size=3)
        | json_like,
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(document_like | json_like)
def test_any_value_becomes_valid_or_is_refused(value: Any) -> None:
    try:
        t.normalise(value)
    except t.InvalidTrajectory:
        return
    valid(value)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_loading_never_crashes(raw: bytes) -> None:
    try:
        value, _ = t.load(raw)
        t.normalise(value)
    except t.InvalidTrajectory:
        pass
