"""Tool calls and which result answers which call."""

from __future__ import annotations

from typing import Any

import msgspec

from benchloop_client.contract.trajectory.keeping import Fields, Notes, as_text, present
from benchloop_client.contract.trajectory.loading import Scrubber

#: Arguments written as text are taken apart up to this nesting; deeper ones stay text.
ARGUMENTS_DEPTH = 32


def tool_calls(step: Fields, number: int, notes: Notes) -> list[dict[str, Any]] | None:
    """The tool calls of a step; an empty list is none. The shape `{id, function: {name, arguments}}` is understood too."""
    value = step.take("tool_calls")
    if value is None:
        return None
    if not isinstance(value, list):
        value = [value]
        notes.add("calls_reshaped")
    return [_call(item, f"call_{number}_{position}", notes) for position, item in enumerate(value, 1)] or None


def _call(value: Any, spare_id: str, notes: Notes) -> dict[str, Any]:
    if not isinstance(value, dict):
        notes.add("calls_reshaped")
        value = {"extra": {"call": value}}
    fields = Fields(value)
    call_id, name, arguments = fields.take("tool_call_id"), fields.take("function_name"), fields.take("arguments")
    function = fields.take("function")
    if name is None and isinstance(function, dict) and isinstance(function.get("name"), str):
        name, arguments, call_id = _nested(fields, function, arguments, call_id)
    elif function is not None:
        fields.keep("function", function)
    if call_id is None:
        notes.add("call_ids_minted")
    return present(
        [
            ("tool_call_id", spare_id if call_id is None else as_text(call_id)),
            ("function_name", "unknown" if name is None else as_text(name)),
            ("arguments", _arguments(arguments, fields, notes)),
            ("extra", fields.rest() or None),
        ]
    )


def _nested(fields: Fields, function: dict[str, Any], arguments: Any, call_id: Any) -> tuple[Any, Any, Any]:
    """The chat API's shape: the name and arguments one level down, the id under `id`."""
    inner = Fields(function)
    name = inner.take("name")
    if arguments is None:
        arguments = inner.take("arguments")
    left = inner.left()
    if left:
        fields.keep("function", left)
    if call_id is None:
        call_id = fields.take("id")
    return name, arguments, call_id


def _arguments(value: Any, fields: Fields, notes: Notes) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    parsed = _parsed(value) if isinstance(value, str) else None
    if parsed is not None:
        return parsed
    notes.add("arguments_not_object")
    fields.keep("arguments", value)
    return {}


def _parsed(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    scrubber = Scrubber()
    try:
        value = scrubber.clean(msgspec.json.decode(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not scrubber.lossy and scrubber.deepest <= ARGUMENTS_DEPTH else None


def resolve_calls(observation: dict[str, Any], calls: list[dict[str, Any]] | None, notes: Notes) -> None:
    """Clear, in place, each `source_call_id` that names no call of the same step; the name stays in the result's `extra`."""
    known = {call["tool_call_id"] for call in calls or ()}
    for result in observation["results"]:
        call_id = result.get("source_call_id")
        if call_id is None or call_id in known:
            continue
        notes.add("call_ids_unresolved")
        del result["source_call_id"]
        fields = Fields(result)
        fields.keep("source_call_id", call_id)
        result["extra"] = fields.extra
