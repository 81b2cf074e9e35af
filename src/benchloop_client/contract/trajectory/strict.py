"""The strict side of the normal form: what is not exactly ATIF v1.8 is refused with one sentence that says where."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from benchloop_client.contract.trajectory.loading import Scrubber
from benchloop_client.contract.trajectory.shape import (
    AGENT_ONLY,
    AUDIO_TYPES,
    IMAGE_TYPES,
    SCHEMA_VERSION,
    InvalidTrajectory,
    TooDeep,
    is_timestamp,
)

_Extra = dict[str, Any] | None


class _Strict(msgspec.Struct, forbid_unknown_fields=True, gc=False, omit_defaults=True):
    """Base: a key that the format does not have is an error. Fields stand in the order in which they are written."""


class _Source(_Strict):
    media_type: str
    path: str
    duration_sec: Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)] | None = None


class _Part(_Strict):
    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: _Source | None = None


_Content = str | list[_Part]


class _SubagentRef(_Strict):
    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: _Extra = None


class _Result(_Strict):
    source_call_id: str | None = None
    content: _Content | None = None
    subagent_trajectory_ref: list[_SubagentRef] | None = None
    extra: _Extra = None


class _Observation(_Strict):
    results: list[_Result]


class _Metrics(_Strict):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: int | float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[int | float] | None = None
    extra: _Extra = None


class _Call(_Strict):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: _Extra = None


class Step(_Strict, kw_only=True):
    """A step of the normal form, as far as types tell."""

    step_id: Annotated[int, msgspec.Meta(ge=1)]
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | int | float | None = None
    message: _Content
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    observation: _Observation | None = None
    metrics: _Metrics | None = None
    llm_call_count: Annotated[int, msgspec.Meta(ge=0)] | None = None
    is_copied_context: bool | None = None
    extra: _Extra = None


class _Agent(_Strict):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: _Extra = None


class _FinalMetrics(_Strict):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: _Extra = None


class _Document(_Strict):
    schema_version: Literal["ATIF-v1.8"]
    agent: _Agent
    steps: Annotated[list[Step], msgspec.Meta(min_length=1)]
    trajectory_id: str | None = None
    session_id: str | None = None
    notes: str | None = None
    final_metrics: _FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: _Extra = None
    subagent_trajectories: list[_Document] | None = None


def decode_strict(raw: bytes) -> dict[str, Any]:
    """The document in `raw`, checked against every rule of the normal form. Raises `InvalidTrajectory` (`TooDeep`)."""
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        raise TooDeep from None
    except ValueError as error:
        raise InvalidTrajectory(f"not strict JSON: {error}") from None
    check_strict(value)
    return value  # type: ignore[no-any-return]


def check_strict(value: Any) -> None:
    """Raise `InvalidTrajectory` unless `value` is a document of the normal form."""
    scrubber = Scrubber()
    scrubber.clean(value)
    if scrubber.lossy:
        raise InvalidTrajectory(f"the document holds {', '.join(sorted(scrubber.lossy))}")
    try:
        document = msgspec.convert(value, _Document)
    except msgspec.ValidationError as error:
        raise InvalidTrajectory(f"not {SCHEMA_VERSION}: {error}") from None
    _check_document(document, "$")


def _check_document(document: _Document, where: str) -> None:
    for position, step in enumerate(document.steps):
        check_step(step, position + 1, f"{where}.steps[{position}]")
    seen: set[str] = set()
    for position, child in enumerate(document.subagent_trajectories or ()):
        place = f"{where}.subagent_trajectories[{position}]"
        if child.trajectory_id is None or child.trajectory_id in seen:
            raise InvalidTrajectory(f"{place} needs a trajectory_id of its own")
        seen.add(child.trajectory_id)
        _check_document(child, place)


def check_step(step: Step, number: int, where: str) -> None:
    """Raise `InvalidTrajectory` for a step that breaks a rule which types do not tell; `where` it stands."""
    if step.step_id != number:
        raise InvalidTrajectory(f"{where}.step_id is {step.step_id}, not {number}")
    if step.timestamp is not None and not is_timestamp(step.timestamp):
        raise InvalidTrajectory(f"{where}.timestamp is not ISO 8601")
    if step.source != "agent":
        _refuse(step, AGENT_ONLY, where, f"is only for steps of the agent, not of the {step.source}")
    elif step.llm_call_count == 0:
        _refuse(step, ("metrics", "reasoning_content"), where, "cannot be without a model call")
    _check_parts(step.message, f"{where}.message")
    known = {call.tool_call_id for call in step.tool_calls or ()}
    for position, result in enumerate(step.observation.results if step.observation else ()):
        _check_result(result, known, f"{where}.observation.results[{position}]")


def _refuse(step: Step, keys: tuple[str, ...], where: str, why: str) -> None:
    for key in keys:
        if getattr(step, key) is not None:
            raise InvalidTrajectory(f"{where}.{key} {why}")


def _check_result(result: _Result, known: set[str], where: str) -> None:
    if result.source_call_id is not None and result.source_call_id not in known:
        raise InvalidTrajectory(f"{where}.source_call_id names no tool call of its step")
    for position, ref in enumerate(result.subagent_trajectory_ref or ()):
        if ref.trajectory_id is None and ref.trajectory_path is None:
            raise InvalidTrajectory(f"{where}.subagent_trajectory_ref[{position}] has neither trajectory_id nor trajectory_path")
    if result.content is not None:
        _check_parts(result.content, f"{where}.content")


def _check_parts(content: str | list[_Part], where: str) -> None:
    if isinstance(content, str):
        return
    for position, part in enumerate(content):
        if not _part_is_whole(part):
            raise InvalidTrajectory(f"{where}[{position}] is not a whole {part.type} part")


def _part_is_whole(part: _Part) -> bool:
    if part.type == "text":
        return part.text is not None and part.source is None
    if part.source is None or part.text is not None:
        return False
    if part.type == "image":
        return part.source.media_type in IMAGE_TYPES and part.source.duration_sec is None
    return part.source.media_type in AUDIO_TYPES
