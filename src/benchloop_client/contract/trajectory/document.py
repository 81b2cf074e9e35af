"""Whole documents: written as one line of JSON, stamped with the job they belong to, split by steps, and asked for their images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from benchloop_client.contract.trajectory.shape import ROOT_KEYS

_encode = msgspec.json.Encoder().encode
_HEAD_KEYS = ROOT_KEYS[: ROOT_KEYS.index("steps")]
_TAIL_KEYS = ROOT_KEYS[ROOT_KEYS.index("steps") + 1 :]
_STAMP = "benchloop"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Whose trajectory a document is."""

    job_id: str
    group_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class MediaPart:
    """An image or sound that a step shows: the path as written, and its media type."""

    path: str
    media_type: str


def ordered(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same document with its keys in the order of the normal form."""
    return {key: document[key] for key in ROOT_KEYS if key in document}


def stamp(document: Mapping[str, Any], *, job_id: str, group_id: str, task_id: str) -> dict[str, Any]:
    """A copy that names its job: `trajectory_id` is the job's id, `extra.benchloop` says job, group and task. An id that the document had
    of its own stays at `extra.benchloop.source_trajectory_id`, also when it is stamped again for another job.
    """
    extra = dict(document.get("extra") or {})
    before = extra.pop(_STAMP, None)
    marks: dict[str, Any] = {"job_id": job_id, "group_id": group_id, "task_id": task_id}
    if isinstance(before, dict):
        own_id = before.get("source_trajectory_id") if stamped(document) else document.get("trajectory_id")
        marks.update({key: value for key, value in before.items() if key not in marks})
    else:
        own_id = document.get("trajectory_id")
        if before is not None:
            extra[f"source_{_STAMP}"] = before
    if own_id is not None:
        marks["source_trajectory_id"] = own_id
    return ordered({**document, "trajectory_id": job_id, "extra": {**extra, _STAMP: marks}})


def stamped(document: Mapping[str, Any]) -> Stamp | None:
    """The stamp of a document, or None where it has none, or one that contradicts its `trajectory_id`."""
    extra = document.get("extra")
    marks = extra.get(_STAMP) if isinstance(extra, dict) else None
    if not isinstance(marks, dict):
        return None
    names = [marks.get(key) for key in ("job_id", "group_id", "task_id")]
    if not all(isinstance(name, str) for name in names) or names[0] != document.get("trajectory_id"):
        return None
    return Stamp(*names)  # type: ignore[arg-type]


def encode(document: Mapping[str, Any]) -> bytes:
    """The document as one line of UTF-8 JSON, keys in the order of the normal form, no newline at the end."""
    return _encode(ordered(document))


def split(document: Mapping[str, Any]) -> tuple[bytes, list[bytes], bytes]:
    """Head, one piece a step, and tail, such that `head + b",".join(steps) + tail == encode(document)`. The head ends with `"steps":[`, the
    tail begins with `]`.
    """
    head = _encode({key: document[key] for key in _HEAD_KEYS if key in document})
    tail = _encode({key: document[key] for key in _TAIL_KEYS if key in document})
    opening = head[:-1] + (b"," if len(head) > 2 else b"") + b'"steps":['
    closing = b"]" + (b"," + tail[1:] if len(tail) > 2 else b"}")
    return opening, [_encode(step) for step in document["steps"]], closing


def media_parts(document: Mapping[str, Any]) -> list[MediaPart]:
    """Each image or sound the document shows, embedded subagents included, once a path, in order."""
    found = {part["source"]["path"]: part["source"]["media_type"] for step in _steps(document) for part in _media_in(step)}
    return [MediaPart(path, media_type) for path, media_type in found.items()]


def with_media(document: Mapping[str, Any], references: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """A copy in which each step that shows one of the paths says under `extra.media` where its bytes are: `references` maps a path to
    `(oss_uri, mime_type)`. Entries that were there for other paths stay.
    """
    if not references:
        return dict(document)
    changed = {**document, "steps": [_step_with_media(step, references) for step in document["steps"]]}
    if document.get("subagent_trajectories"):
        changed["subagent_trajectories"] = [with_media(child, references) for child in document["subagent_trajectories"]]
    return changed


def _step_with_media(step: dict[str, Any], references: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    paths = list(dict.fromkeys(part["source"]["path"] for part in _media_in(step) if part["source"]["path"] in references))
    if not paths:
        return step
    extra = dict(step.get("extra") or {})
    before = extra.get("media")
    kept = [item for item in before if not (isinstance(item, dict) and item.get("path") in paths)] if isinstance(before, list) else []
    if before is not None and not isinstance(before, list):
        extra["source_media"] = before
    extra["media"] = kept + [_media_entry(path, references[path]) for path in paths]
    return {**step, "extra": extra}


def _media_entry(path: str, reference: tuple[str, str]) -> dict[str, Any]:
    return {"path": path, "trace_media": {"oss_uri": reference[0], "mime_type": reference[1]}}


def _steps(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from document["steps"]
    for child in document.get("subagent_trajectories") or ():
        yield from _steps(child)


def _media_in(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    results = (step.get("observation") or {}).get("results") or ()
    for content in (step.get("message"), *(result.get("content") for result in results)):
        if isinstance(content, list):
            yield from (part for part in content if part.get("type") != "text")
