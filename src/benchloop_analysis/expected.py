"""The actions that a task asks for, where the data has them, beside those that the agent took: what is missing, what is too much."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from benchloop_analysis.records import Event, File, Struct

_FILE = "trial.json"
_decoder = json.JSONDecoder(strict=False)
_canonical = msgspec.json.Encoder(order="sorted").encode


class Wanted(Struct, frozen=True, kw_only=True):
    """One action that the task asks for: its name, arguments, and where it stands in `file`."""

    name: str
    arguments: Mapping[str, Any]
    file: File
    start: int
    end: int


class Difference(Struct, frozen=True, kw_only=True):
    """`missing` was asked for and not done, `extra` was done and not asked for; `done` is every change that succeeded.

    `astray` are the calls that lead away from what was asked for, in order: changes that nobody asked for, also those that were refused,
    refused changes that were asked for and never succeeded, and handing over to somebody else when that was not asked for.
    """

    wanted: tuple[Wanted, ...]
    done: tuple[Event, ...]
    missing: tuple[Wanted, ...]
    extra: tuple[Event, ...]
    astray: tuple[Event, ...] = ()


def wanted_actions(files: tuple[File, ...]) -> tuple[Wanted, ...] | None:
    """The actions in a tau-bench record (`info.task.actions`), None where there are none recorded."""
    file = next((file for file in files if file.path == _FILE), None)
    if file is None or not file.whole:
        return None
    at = file.text.find('"actions"', max(0, file.text.find('"task"', file.text.find('"info"'))))
    at = file.text.find("[", at) if at >= 0 else -1
    return tuple(_elements(file, at + 1)) if at >= 0 else None


def difference(wanted: tuple[Wanted, ...], events: tuple[Event, ...], changes: frozenset[str]) -> Difference:
    """Compare actions that change something; `changes` are the names of the tools that do. Equal arguments are equal in any order."""
    asked = tuple(action for action in wanted if action.name in changes)
    done = tuple(event for event in events if event.tool in changes and not event.is_error and event.output is not None)
    left = list(asked)
    extra = []
    for event in done:
        same = next((action for action in left if action.name == event.tool and _same(action.arguments, event.arguments)), None)
        if same is None:
            extra.append(event)
        else:
            left.remove(same)
    astray = tuple(event for event in events if _is_astray(event, wanted, left, extra, changes))
    return Difference(wanted=asked, done=done, missing=tuple(left), extra=tuple(extra), astray=astray)


def _is_astray(event: Event, wanted: tuple[Wanted, ...], missing: list[Wanted], extra: list[Event], changes: frozenset[str]) -> bool:
    if event.tool in changes:
        asked = any(action.name == event.tool and _same(action.arguments, event.arguments) for action in wanted)
        still_missing = any(action.name == event.tool and _same(action.arguments, event.arguments) for action in missing)
        return event in extra or (event.is_error and (not asked or still_missing))
    return event.kind == "ask" and event.tool is not None and all(action.name != event.tool for action in wanted)


def _elements(file: File, at: int) -> Iterator[Wanted]:
    text = file.text
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] != "{":
            return
        try:
            value, end = _decoder.raw_decode(text, at)
        except ValueError:
            return
        name, arguments = value.get("name"), value.get("kwargs", value.get("arguments"))
        if isinstance(name, str) and isinstance(arguments, dict):
            yield Wanted(name=name, arguments=arguments, file=file, start=at, end=end)
        at = end


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _canonical(_plain(one)) == _canonical(_plain(other))


def _plain(value: Any) -> Any:
    """Numbers as the database compares them: 5 and 5.0 are one; order in lists counts."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
