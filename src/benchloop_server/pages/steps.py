"""One step of a trajectory as it is shown: texts within bounds that say so, calls on one line with what came of them, images. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from benchloop_analysis import events as reading
from benchloop_analysis.records import Event
from benchloop_server.pages import ansi
from benchloop_server.pages.formatting import shown

#: Characters of a text that a window shows, and that a page of one step shows.
WINDOW_TEXT, PAGE_TEXT = 6_000, 400_000
#: Media types that a page shows; others are a link.
SAFE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
_LINE = 140
_MOST_CALLS, _MOST_PARTS = 200, 100
_ARGUMENT_FIRST = ("command", "cmd", "file_path", "path", "query", "pattern", "url", "code", "input")


class Text(msgspec.Struct, frozen=True):
    """A text: `runs` of (class, text), `size` in bytes of the whole, `left` characters that are not shown."""

    runs: list[tuple[str, str]]
    size: int
    left: int = 0


class Media(msgspec.Struct, frozen=True):
    """An image or sound: `uri` is its opaque id, None where the file did not come along; `image`: whether it may be shown."""

    name: str
    media_type: str
    uri: str | None
    image: bool


class Result(msgspec.Struct, frozen=True):
    """What came back from a call."""

    text: Text | None
    media: list[Media]
    refs: list[str]


class Call(msgspec.Struct, frozen=True):
    """A call: `line` is its name and first argument; `arguments` all of them; `says` what came of it, such as `exit 1`."""

    name: str
    line: str
    arguments: Text
    says: str
    is_error: bool
    results: list[Result]
    size: int | None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A step. `number` is its place from 0, `step_id` its own; `phase` E, I, V, O or `.`; tokens None where not recorded."""

    number: int
    step_id: int
    source: str
    phase: str
    is_error: bool
    in_loop: bool
    time: str | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    cost_usd: float | None
    message: Text | None
    media: list[Media]
    thinking: Text | None
    calls: list[Call]
    loose: list[Result]
    calls_left: int
    copied: bool
    size: int


class Marked(msgspec.Struct, frozen=True):
    """What the marks of the whole trajectory say about one step; `.` and False where they are not there yet."""

    phase: str = "."
    in_loop: bool = False


def step(raw: bytes, number: int, *, most: int = WINDOW_TEXT, mark: Marked | None = None) -> Shown:
    """A step from its JSON text, every text at most `most` characters."""
    document: dict[str, Any] = msgspec.json.decode(raw)
    events = {event.call: event for event in reading.iterate([document]) if event.tool is not None}
    paths = _paths(document.get("extra") or {})
    results = list((document.get("observation") or {}).get("results") or ())
    given = document.get("tool_calls") or []
    calls = [_call(call, events.get(place), results, paths, most) for place, call in enumerate(given[:_MOST_CALLS])]
    taken = {event.result for event in events.values()}
    message, media = _content(document.get("message"), paths, most)
    metrics: Mapping[str, Any] = document.get("metrics") or {}
    mark = mark or Marked()
    return Shown(
        number=number,
        step_id=document["step_id"],
        source=str(document["source"]),
        phase=mark.phase,
        in_loop=mark.in_loop,
        is_error=any(event.is_error for event in events.values()),
        time=document.get("timestamp"),
        model=_words(document.get("model_name")),
        prompt_tokens=metrics.get("prompt_tokens"),
        completion_tokens=metrics.get("completion_tokens"),
        cached_tokens=metrics.get("cached_tokens"),
        cost_usd=metrics.get("cost_usd"),
        message=message,
        media=media,
        thinking=text(document.get("reasoning_content") or "", most),
        calls=calls,
        loose=[_result(result, paths, most) for place, result in enumerate(results[:_MOST_PARTS]) if place not in taken],
        calls_left=max(0, len(given) - _MOST_CALLS),
        copied=bool(document.get("is_copied_context")),
        size=len(raw),
    )


def text(value: str, most: int = WINDOW_TEXT) -> Text | None:
    """A text within bounds; None for an empty one."""
    if not value.strip():
        return None
    return Text(ansi.runs(value[:most]), len(value.encode("utf-8", "replace")), max(0, len(value) - most))


def pretty(value: Any) -> str:
    """JSON for people: indented; a text as it is."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def argument_line(arguments: Any) -> str:
    """The argument that says most, on one line."""
    if not isinstance(arguments, Mapping):
        return _one_line(pretty(arguments))
    named = [name for name in _ARGUMENT_FIRST if name in arguments] or list(arguments)
    if not named:
        return ""
    value = arguments[named[0]]
    return _one_line(value if isinstance(value, str) else pretty(value))


def _one_line(value: str) -> str:
    line = " ".join(ansi.plain(value[: 4 * _LINE]).split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _call(call: Mapping[str, Any], event: Event | None, results: Sequence[Any], paths: Mapping[str, str], most: int) -> Call:
    mine = [_result(results[event.result], paths, most)] if event is not None and event.result is not None else []
    size = sum(result.text.size for result in mine if result.text) if mine else None
    arguments = call.get("arguments")
    only = next(iter(arguments.values())) if isinstance(arguments, Mapping) and len(arguments) == 1 else None
    return Call(
        name=shown(call.get("function_name", ""))[:120],
        line=argument_line(arguments),
        arguments=text(only if isinstance(only, str) else pretty(arguments), most) or Text([], 0),
        says=_says(event),
        is_error=event is not None and event.is_error,
        results=mine,
        size=size,
    )


def _says(event: Event | None) -> str:
    if event is None or event.result is None:
        return "no result"
    if event.exit_code is not None:
        return f"exit {event.exit_code}"
    if event.is_error:
        return (event.error_class or "error").replace("_", " ")
    return "ok"


def _result(result: Mapping[str, Any], paths: Mapping[str, str], most: int) -> Result:
    words, media = _content(result.get("content"), paths, most)
    refs = [shown(ref.get("trajectory_id") or ref.get("trajectory_path") or "") for ref in result.get("subagent_trajectory_ref") or ()]
    return Result(words, media, refs)


def _content(content: Any, paths: Mapping[str, str], most: int) -> tuple[Text | None, list[Media]]:
    media = [_media(part, paths) for part in content[:_MOST_PARTS] if part.get("type") != "text"] if isinstance(content, list) else []
    return text(reading.content_text(content), most), media


def _media(part: Mapping[str, Any], paths: Mapping[str, str]) -> Media:
    source = part.get("source") or {}
    path, kind = str(source.get("path") or ""), str(source.get("media_type") or part.get("type") or "")
    uri = paths.get(path)
    return Media(shown(path or kind)[:200], shown(kind)[:80], uri, uri is not None and kind.lower() in SAFE_IMAGES)


def _paths(extra: Mapping[str, Any]) -> dict[str, str]:
    """Path in the run → opaque id of the file on the server."""
    found: dict[str, str] = {}
    for item in extra.get("media") or ():
        uri = (item.get("trace_media") or {}).get("oss_uri") if isinstance(item, Mapping) else None
        if isinstance(uri, str):
            found[str(item.get("path"))] = uri
    return found


def _words(value: Any) -> str | None:
    return None if value is None else shown(value)[:120]
