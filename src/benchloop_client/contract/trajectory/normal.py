"""Lenient in, strict out: any JSON value that can be called a trajectory becomes a valid document of the normal form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from benchloop_client.contract.trajectory import content
from benchloop_client.contract.trajectory.calls import ARGUMENTS_DEPTH, resolve_calls, tool_calls
from benchloop_client.contract.trajectory.document import ordered
from benchloop_client.contract.trajectory.keeping import Fields, Notes, as_text, is_number, present
from benchloop_client.contract.trajectory.loading import Scrubber
from benchloop_client.contract.trajectory.plain import plain_step
from benchloop_client.contract.trajectory.shape import (
    AGENT_ONLY,
    MAX_DEPTH,
    SCHEMA_VERSION,
    SOURCE_ALIASES,
    SOURCES,
    InvalidTrajectory,
    is_timestamp,
)

#: How much deeper than its source a document can become: what has no place moves into `extra`, a level or two down, and arguments written
#: as text become objects.
_DEPTH_SLACK = 8 + ARGUMENTS_DEPTH


@dataclass(frozen=True, slots=True)
class Normal:
    """A document of the normal form and the sorted names of what was lost or invented to make it one.

    The names: surrogates, non_finite_numbers, huge_integers, invalid_utf8, other_types, agent_unknown, step_not_object,
    step_ids_renumbered, source_unknown, timestamps_invalid, message_not_text, content_not_text, parts_as_text, observation_reshaped,
    call_ids_minted, calls_reshaped, call_ids_unresolved, arguments_not_object, agent_fields_moved, subagent_refs_unresolved,
    subagent_ids_minted, subagents_unreadable.
    """

    document: dict[str, Any]
    lossy: tuple[str, ...] = ()


def normalise(value: Any) -> Normal:
    """The normal form of any JSON value with a list of steps. Nothing is dropped: what has no place is kept in `extra`.

    Idempotent. Raises `InvalidTrajectory` for a value that is not an object with at least one step, `TooDeep` for one nested too deeply.
    """
    scrubber = Scrubber()
    clean = scrubber.clean(value)
    notes = Notes()
    document = _document(clean, notes)
    if scrubber.deepest > MAX_DEPTH - _DEPTH_SLACK:
        Scrubber().clean(document)
    return Normal(document, tuple(sorted(notes.lossy | scrubber.lossy)))


def _document(value: Any, notes: Notes) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidTrajectory("a trajectory is a JSON object; this is not one")
    steps = value.get("steps")
    if not isinstance(steps, list) or not steps:
        raise InvalidTrajectory("a trajectory has a list of at least one step under `steps`; this has none")
    fields = Fields(value)
    fields.take("steps")
    version = fields.take("schema_version")
    if version is not None and version != SCHEMA_VERSION:
        fields.keep("source_schema_version", version)
    names = {key: fields.text(key) for key in ("trajectory_id", "session_id", "notes", "continued_trajectory_ref")}
    agent, final = _agent(fields.take("agent"), notes), _final_metrics(fields)
    subagents = _subagents(fields, notes)
    return present(
        [
            ("schema_version", SCHEMA_VERSION),
            ("trajectory_id", names["trajectory_id"]),
            ("session_id", names["session_id"]),
            ("agent", agent),
            ("notes", names["notes"]),
            ("final_metrics", final),
            ("continued_trajectory_ref", names["continued_trajectory_ref"]),
            ("extra", fields.rest() or None),
            ("steps", [_step(item, number, notes) for number, item in enumerate(steps, 1)]),
            ("subagent_trajectories", subagents),
        ]
    )


def _agent(value: Any, notes: Notes) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {} if value is None else {"name": value if isinstance(value, str) else None, "extra": {"agent": value}}
    fields = Fields(value)
    name, version = fields.text("name"), fields.text("version")
    if name is None or version is None:
        notes.add("agent_unknown")
    model = fields.text("model_name")
    tools = fields.take("tool_definitions")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        fields.keep("tool_definitions", tools)
        tools = None
    return present(
        [
            ("name", "unknown" if name is None else name),
            ("version", "unknown" if version is None else version),
            ("model_name", model),
            ("tool_definitions", tools),
            ("extra", fields.rest() or None),
        ]
    )


def _final_metrics(owner: Fields) -> dict[str, Any] | None:
    value = owner.take("final_metrics")
    if not isinstance(value, dict):
        owner.put_back("final_metrics", value)
        return None
    fields = Fields(value)
    return present(
        [
            ("total_prompt_tokens", fields.count("total_prompt_tokens")),
            ("total_completion_tokens", fields.count("total_completion_tokens")),
            ("total_cached_tokens", fields.count("total_cached_tokens")),
            ("total_cost_usd", fields.number("total_cost_usd")),
            ("total_steps", fields.count("total_steps")),
            ("extra", fields.rest() or None),
        ]
    )


def _subagents(owner: Fields, notes: Notes) -> list[dict[str, Any]] | None:
    value = owner.take("subagent_trajectories")
    if not isinstance(value, list):
        owner.put_back("subagent_trajectories", value)
        return None
    good, bad = [], []
    for item in value:
        try:
            good.append(_document(item, notes))
        except InvalidTrajectory:
            bad.append(item)
    if bad:
        notes.add("subagents_unreadable")
        owner.keep("subagent_trajectories", bad)
    return _with_ids(good, notes) or None


def _with_ids(documents: list[dict[str, Any]], notes: Notes) -> list[dict[str, Any]]:
    """The embedded documents, each with an id that no other has; a missing or repeated id is replaced, and kept."""
    taken = {document["trajectory_id"] for document in documents if "trajectory_id" in document}
    seen: set[str] = set()
    named = []
    for position, document in enumerate(documents, 1):
        name = document.get("trajectory_id")
        if name is None or name in seen:
            notes.add("subagent_ids_minted")
            named.append(_renamed(document, f"{name or 'subagent'}-{position}", taken))
        else:
            named.append(document)
        seen.add(named[-1]["trajectory_id"])
        taken.add(named[-1]["trajectory_id"])
    return named


def _renamed(document: dict[str, Any], name: str, taken: set[str]) -> dict[str, Any]:
    while name in taken:
        name += "_"
    fields = Fields(document)
    fields.put_back("source_trajectory_id", fields.take("trajectory_id"))
    return ordered({**document, "trajectory_id": name, **({"extra": fields.extra} if fields.extra else {})})


def _step(value: Any, number: int, notes: Notes) -> dict[str, Any]:
    if not isinstance(value, dict):
        notes.add("step_not_object")
        value = {"source": "system", "message": as_text(value), "extra": {"step": value}}
    return plain_step(value, number) or _mended_step(value, number, notes)


def _mended_step(value: dict[str, Any], number: int, notes: Notes) -> dict[str, Any]:
    """The long way: field by field."""
    fields = Fields(value)
    _number(fields, number, notes)
    source = _source(fields, notes)
    timestamp = _timestamp(fields, notes)
    text = content.message(fields, notes)
    calls = tool_calls(fields, number, notes)
    own = _own_fields(fields, calls, source == "agent", notes)
    seen = content.observation(fields.take("observation"), fields, notes)
    if seen is not None:
        resolve_calls(seen, own.get("tool_calls"), notes)
    return present(
        [
            ("step_id", number),
            ("timestamp", timestamp),
            ("source", source),
            ("model_name", own.get("model_name")),
            ("reasoning_effort", own.get("reasoning_effort")),
            ("message", text),
            ("reasoning_content", own.get("reasoning_content")),
            ("tool_calls", own.get("tool_calls")),
            ("observation", seen),
            ("metrics", own.get("metrics")),
            ("llm_call_count", own.get("llm_call_count")),
            ("is_copied_context", fields.flag("is_copied_context")),
            ("extra", fields.rest() or None),
        ]
    )


def _number(fields: Fields, number: int, notes: Notes) -> None:
    original = fields.take("step_id")
    if original is not None and (type(original) is not int or original != number):
        fields.keep("source_step_id", original)
        notes.add("step_ids_renumbered")


def _source(fields: Fields, notes: Notes) -> str:
    value = fields.take("source")
    if isinstance(value, str) and value in SOURCES:
        return value
    fields.put_back("source", value)
    alias = SOURCE_ALIASES.get(value.lower()) if isinstance(value, str) else None
    if alias is None:
        notes.add("source_unknown")
    return alias or "system"


def _timestamp(fields: Fields, notes: Notes) -> str | None:
    value = fields.take("timestamp")
    if value is None or (isinstance(value, str) and is_timestamp(value)):
        return value
    fields.keep("timestamp", value)
    moment = _from_epoch(value) if is_number(value) else None
    if moment is None:
        notes.add("timestamps_invalid")
    return moment


def _from_epoch(value: float) -> str | None:
    """Seconds or milliseconds since 1970, recognised by their size (years 2001 to 2286)."""
    seconds = value / 1000 if 1e12 <= value < 1e13 else value
    if not 1e9 <= seconds < 1e10:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _own_fields(fields: Fields, calls: list[dict[str, Any]] | None, is_agent: bool, notes: Notes) -> dict[str, Any]:
    """The fields that only the agent's steps have; on other steps they go aside, as do model metrics of a step without a model call."""
    effort = fields.take("reasoning_effort")
    if not (isinstance(effort, str) or is_number(effort)):
        fields.put_back("reasoning_effort", effort)
        effort = None
    own = {
        "model_name": fields.text("model_name"),
        "reasoning_effort": effort,
        "reasoning_content": _reasoning(fields),
        "tool_calls": calls,
        "metrics": _metrics(fields),
        "llm_call_count": fields.count("llm_call_count", least=0),
    }
    misplaced: tuple[str, ...] = () if is_agent else AGENT_ONLY
    if is_agent and own["llm_call_count"] == 0:
        misplaced = ("metrics", "reasoning_content")
    for key in misplaced:
        if own[key] is not None:
            notes.add("agent_fields_moved")
            fields.keep(key, own.pop(key))
    return own


def _reasoning(fields: Fields) -> str | None:
    value = fields.take("reasoning_content")
    if value is None or isinstance(value, str):
        return value
    fields.keep("reasoning_content", value)
    return as_text(value)


def _metrics(owner: Fields) -> dict[str, Any] | None:
    value = owner.take("metrics")
    if not isinstance(value, dict):
        owner.put_back("metrics", value)
        return None
    fields = Fields(value)
    return present(
        [
            ("prompt_tokens", fields.count("prompt_tokens")),
            ("completion_tokens", fields.count("completion_tokens")),
            ("cached_tokens", fields.count("cached_tokens")),
            ("cost_usd", fields.number("cost_usd")),
            ("prompt_token_ids", fields.numbers("prompt_token_ids", integers=True)),
            ("completion_token_ids", fields.numbers("completion_token_ids", integers=True)),
            ("logprobs", fields.numbers("logprobs", integers=False)),
            ("extra", fields.rest() or None),
        ]
    )
