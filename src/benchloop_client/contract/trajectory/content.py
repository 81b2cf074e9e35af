"""Messages, observations and their parts: text, images and sound, whatever shape the harness gave them."""

from __future__ import annotations

from typing import Any

from benchloop_client.contract.trajectory.keeping import Fields, Notes, as_text, is_number, present
from benchloop_client.contract.trajectory.shape import AUDIO_TYPES, IMAGE_TYPES, MEDIA_ALIASES


def message(fields: Fields, notes: Notes) -> str | list[dict[str, Any]]:
    """The `message` of a step: text or parts. Another value becomes text and is kept as it was."""
    value = fields.take("message")
    content = _content(value, fields, notes, "message")
    return "" if content is None else content


def observation(value: Any, step: Fields, notes: Notes) -> dict[str, Any] | None:
    """An observation with its `results`; bare text, a list or a single result become one."""
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        fields = Fields(value)
        results = fields.take("results")
        left = fields.left()
        if left:
            step.keep("observation", left)
    else:
        results = value if isinstance(value, list) else [value]
        notes.add("observation_reshaped")
    return {"results": [_result(item, notes) for item in results]}


def _result(value: Any, notes: Notes) -> dict[str, Any]:
    if not isinstance(value, dict):
        notes.add("observation_reshaped")
        return {"content": as_text(value)}
    fields = Fields(value)
    call_id = fields.take("source_call_id")
    if call_id is not None and not isinstance(call_id, str):
        call_id = as_text(call_id)
    content = _content(fields.take("content"), fields, notes, "content")
    refs = _subagent_refs(fields, notes)
    return present(
        [
            ("source_call_id", call_id),
            ("content", content),
            ("subagent_trajectory_ref", refs),
            ("extra", fields.rest() or None),
        ]
    )


def _subagent_refs(fields: Fields, notes: Notes) -> list[dict[str, Any]] | None:
    value = fields.take("subagent_trajectory_ref")
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    refs = [_subagent_ref(item) for item in listed]
    good = [ref for ref in refs if ref is not None]
    if len(good) < len(listed):
        notes.add("subagent_refs_unresolved")
        fields.keep("subagent_trajectory_ref", [item for item, ref in zip(listed, refs, strict=True) if ref is None])
    return good or None


def _subagent_ref(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    fields = Fields(value)
    names = [(key, fields.text(key)) for key in ("trajectory_id", "trajectory_path", "session_id")]
    if names[0][1] is None and names[1][1] is None:
        return None
    return present([*names, ("extra", fields.rest() or None)])


def _content(value: Any, owner: Fields, notes: Notes, key: str) -> str | list[dict[str, Any]] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return _parts(value, owner, notes, key)
    owner.keep(key, value)
    notes.add(f"{key}_not_text")
    return as_text(value)


def _parts(value: list[Any], owner: Fields, notes: Notes, key: str) -> list[dict[str, Any]]:
    parts, leftovers = [], {}
    for index, item in enumerate(value):
        part, left = _part(item, notes)
        parts.append(part)
        if left:
            leftovers[str(index)] = left
    if leftovers:
        owner.keep(f"{key}_parts", leftovers)
    return parts


def _part(value: Any, notes: Notes) -> tuple[dict[str, Any], dict[str, Any]]:
    """One part and what of it has no place. A part of an unknown kind becomes text that holds it as JSON."""
    if isinstance(value, dict):
        fields = Fields(value)
        kind = fields.take("type")
        text, source = fields.take("text"), fields.take("source")
        if kind == "text" and isinstance(text, str):
            return {"type": "text", "text": text}, {**({"source": source} if source is not None else {}), **fields.left()}
        media = _media_source(kind, source)
        if media is not None:
            clean, left = media
            rest = {**({"text": text} if text is not None else {}), **({"source": left} if left else {}), **fields.left()}
            return {"type": kind, "source": clean}, rest
    if not isinstance(value, str):
        notes.add("parts_as_text")
    return {"type": "text", "text": as_text(value)}, {}


def _media_source(kind: Any, source: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    if kind not in ("image", "audio") or not isinstance(source, dict):
        return None
    media_type, path = source.get("media_type"), source.get("path")
    if not isinstance(media_type, str) or not isinstance(path, str):
        return None
    spelled = media_type.strip().lower()
    media_type = MEDIA_ALIASES.get(spelled, spelled)
    if media_type not in (IMAGE_TYPES if kind == "image" else AUDIO_TYPES):
        return None
    left = {key: item for key, item in source.items() if key not in ("media_type", "path")}
    duration = left.get("duration_sec") if kind == "audio" else None
    if is_number(duration) and duration >= 0:
        del left["duration_sec"]
    else:
        duration = None
    return present([("media_type", media_type), ("path", path), ("duration_sec", duration)]), left
