"""Chat messages as steps: each message that is no tool result is a step, a tool result belongs to the step that called."""

from __future__ import annotations

from typing import Any

from benchloop_client.formats.jsonfile import listing, mapping

_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}


def to_steps(messages: list[Any]) -> list[dict[str, Any]]:
    """Steps in order. `extra.message_index` (from 0) says which message each step and each result came from: none is lost."""
    steps: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        role = mapping(message).get("role")
        if role == "tool" and _answer(steps, message, index):
            continue
        steps.append(_step(message, index))
    return steps


def _step(message: Any, index: int) -> dict[str, Any]:
    if not isinstance(message, dict):
        return {"source": "system", "message": message, "extra": {"message_index": index}}
    role = message.get("role")
    known = ("role", "content", "tool_calls")
    rest = {key: value for key, value in message.items() if key not in known}
    step: dict[str, Any] = {
        "source": _SOURCES.get(role, "system") if isinstance(role, str) else "system",
        "message": message.get("content"),
        "extra": {"message_index": index, **rest},
    }
    if role == "tool":
        step["message"] = ""
        step["observation"] = {"results": [{"content": message.get("content")}]}
    elif step["source"] == "system" and role not in _SOURCES:
        step["extra"]["role"] = role
    calls = message.get("tool_calls")
    if calls:
        step["tool_calls"] = [_call(call) for call in listing(calls)] if isinstance(calls, list) else calls
    return step


def _call(call: Any) -> Any:
    """A call without the `type: function` that every one of them has."""
    return {key: value for key, value in call.items() if (key, value) != ("type", "function")} if isinstance(call, dict) else call


def _answer(steps: list[dict[str, Any]], message: dict[str, Any], index: int) -> bool:
    """Add a tool result to the latest step of the agent if that made the call; say whether it did."""
    step = next((step for step in reversed(steps) if step["source"] == "agent"), None)
    call_id = message.get("tool_call_id")
    if step is None or call_id not in [mapping(call).get("id") for call in listing(step.get("tool_calls"))]:
        return False
    known = ("role", "content", "tool_call_id")
    rest = {key: value for key, value in message.items() if key not in known}
    result = {"source_call_id": call_id, "content": message.get("content"), "extra": {"message_index": index, **rest}}
    step.setdefault("observation", {"results": []})["results"].append(result)
    return True
