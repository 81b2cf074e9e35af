"""From the normal form of a trajectory to its events, one step after another: what was called, on what, and what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from hashlib import blake2b
from typing import Any

import msgspec

from benchloop_analysis import outputs, shell
from benchloop_analysis.phases import Phases, collapsed
from benchloop_analysis.records import Command, Event, Trajectory
from benchloop_analysis.tables import Tables, default

_EMPTY: Mapping[str, Any] = {}
_encode = msgspec.json.Encoder(order="sorted").encode
_CHANGES = frozenset({"edit", "write", "delete"})


def read_trajectory(document: Mapping[str, Any], tables: Tables | None = None) -> Trajectory:
    """All events of a document of the normal form, and the sums over them. Steps copied from an earlier document are left out."""
    steps = document["steps"]
    events = tuple(iterate(steps, tables))
    asked = next((event for event in events if event.source == "user"), None)
    calls = [event for event in events if event.tool is not None]
    times = [event.at for event in events if event.at is not None]
    return Trajectory(
        events=events,
        instruction=asked.text if asked is not None else "",
        instruction_step=asked.step_id if asked is not None else None,
        n_steps=len(steps),
        n_agent_steps=sum(step["source"] == "agent" and not step.get("is_copied_context") for step in steps),
        n_calls=len(calls),
        n_errors=sum(event.is_error for event in calls),
        kinds=dict(Counter(event.kind for event in calls)),
        tools=dict(Counter(event.tool for event in calls if event.tool is not None)),
        phases=collapsed(event.phase for event in events),
        first_change_step=next((event.step_id for event in calls if event.phase == "I" and event.error_class not in outputs.REFUSED), None),
        seconds=max(times) - min(times) if len(times) > 1 else None,
    )


def iterate(steps: Iterable[Mapping[str, Any]], tables: Tables | None = None) -> Iterator[Event]:
    """Events of the steps, as they come; holds one step at a time. At least one event a step, except for copied steps."""
    reader = _Reader(tables or default())
    waiting: Mapping[str, Any] | None = None
    waiting_at: float | None = None
    for step in steps:
        if step.get("is_copied_context"):
            continue
        at = seconds_of(step.get("timestamp"))
        if waiting is not None:
            lasted = max(0.0, at - waiting_at) if at is not None and waiting_at is not None else None
            yield from reader.step(waiting, waiting_at, lasted)
        waiting, waiting_at = step, at
    if waiting is not None:
        yield from reader.step(waiting, waiting_at, None)


def content_text(content: Any) -> str:
    """The text of a message or result: parts are joined by newlines, images and sounds left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return ""


def seconds_of(timestamp: str | None) -> float | None:
    """An ISO 8601 time in seconds since 1970; a time without zone is taken as UTC. None for what is no time."""
    if not timestamp or len(timestamp) < 10:
        return None
    rest = timestamp[19:]
    try:
        base = datetime.fromisoformat(timestamp[:19]).replace(tzinfo=timezone.utc).timestamp()
        if rest in ("", "Z"):
            return base
        digits, zone = rest, ""
        for sign in "Z+-":
            if sign in rest:
                digits, _, zone = rest.partition(sign)
                zone = "" if sign == "Z" else sign + zone
                break
        fraction = float(digits) if digits not in ("", ".") else 0.0
        return base + fraction - (_offset(zone) if zone else 0)
    except ValueError:
        return None


def _offset(zone: str) -> int:
    hours, _, minutes = zone[1:].partition(":")
    amount = int(hours) * 3600 + int(minutes or 0) * 60
    return -amount if zone[0] == "-" else amount


class _Reader:
    """What is remembered from step to step: how many events there were, and the phase."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._phases = Phases()
        self._position = 0
        #: Agents repeat commands; what each comes to is worked out once.
        self._known: dict[str, tuple[Command, ...]] = {}

    def step(self, step: Mapping[str, Any], at: float | None, lasted: float | None) -> Iterator[Event]:
        extra = step.get("extra") or _EMPTY
        base: dict[str, Any] = {
            "step_id": step["step_id"],
            "source": step["source"],
            "at": at,
            "seconds": lasted,
            "stop_reason": _stop_reason(extra),
            "completion_tokens": (step.get("metrics") or _EMPTY).get("completion_tokens"),
        }
        text, thinking = content_text(step.get("message")), step.get("reasoning_content") or ""
        results = (step.get("observation") or _EMPTY).get("results") or ()
        calls = step.get("tool_calls")
        if not calls:
            yield self._message(base, text, thinking, results)
            return
        for place, call in enumerate(calls):
            result = _answer(call, place, results, len(calls))
            marked = _marked(results[result], extra, len(calls)) if result is not None else None
            yield self._call(base, (text, thinking) if place == 0 else ("", ""), call, place, _Result(result, results, marked))

    def _message(self, base: dict[str, Any], text: str, thinking: str, results: Any) -> Event:
        output, field = None, ""
        if results:
            output, field = content_text(results[0].get("content")), "observation.results[0].content"
        return Event(
            position=self._next(),
            kind="message",
            text=text,
            thinking=thinking,
            output=output,
            output_field=field,
            result=0 if results else None,
            **base,
        )

    def _call(self, base: dict[str, Any], said: tuple[str, str], call: Mapping[str, Any], place: int, result: _Result) -> Event:
        name, arguments = call["function_name"], call["arguments"]
        tools = self._tables.tools
        command, command_field = _command(name, arguments, tools.shell, tools.command)
        commands: tuple[Command, ...] = ()
        if command is not None:
            known = self._known.get(command)
            commands = self._known[command] = shell.commands(command, self._tables.programs) if known is None else known
            kind = shell.main_kind(commands, self._tables.programs)
            paths = tuple(path for found in commands for path in found.paths)
            writes = tuple(path for found in commands for path in found.writes)
        else:
            kind = tools.kind(name, arguments)
            paths = tuple(arguments[key] for key in tools.path if isinstance(arguments.get(key), str))
            writes = paths if kind in _CHANGES else ()
        output = result.text()
        reading = outputs.UNREAD if output is None else outputs.read(output, result.marked, result.extra(), self._tables.errors)
        return Event(
            position=self._next(),
            kind=kind,
            phase=self._phases.of(kind, paths, writes),
            text=said[0],
            thinking=said[1],
            tool=name,
            call=place,
            result=result.place,
            arguments=arguments,
            command=command,
            command_field=command_field,
            commands=commands,
            key=_key(name, arguments, command),
            paths=paths,
            writes=writes,
            output=output,
            output_field=f"observation.results[{result.place}].content" if result.place is not None else "",
            output_key=_digest(output) if output is not None else "",
            is_error=reading.is_error,
            error_class=reading.error_class,
            error_at=reading.at,
            signature=reading.signature,
            exit_code=reading.exit_code,
            truncated=reading.truncated,
            **base,
        )

    def _next(self) -> int:
        self._position += 1
        return self._position - 1


class _Result:
    """The result of a call, where there is one, and how the harness marks it."""

    __slots__ = ("_results", "marked", "place")

    def __init__(self, place: int | None, results: Any, marked: bool | None) -> None:
        self.place, self._results, self.marked = place, results, marked

    def text(self) -> str | None:
        return None if self.place is None else content_text(self._results[self.place].get("content"))

    def extra(self) -> Mapping[str, Any] | None:
        return None if self.place is None else self._results[self.place].get("extra")


def _answer(call: Mapping[str, Any], place: int, results: Any, n_calls: int) -> int | None:
    """The place of the result that answers a call: by id, else by position where no result has an id."""
    wanted = call["tool_call_id"]
    for at, result in enumerate(results):
        if result.get("source_call_id") == wanted:
            return at
    if place < len(results) and results[place].get("source_call_id") is None and (len(results) == n_calls or n_calls == 1):
        return place
    return None


def _marked(result: Mapping[str, Any], step_extra: Mapping[str, Any], n_calls: int) -> bool | None:
    extra = result.get("extra") or _EMPTY
    for key in ("is_error", "isError", "error"):
        value = extra.get(key)
        if isinstance(value, bool):
            return value
    value = step_extra.get("tool_result_is_error")
    return value if n_calls == 1 and isinstance(value, bool) else None


def _stop_reason(extra: Mapping[str, Any]) -> str | None:
    value = extra.get("stop_reason") or extra.get("finish_reason")
    return value if isinstance(value, str) else None


def _command(name: str, arguments: Mapping[str, Any], shells: frozenset[str], fields: list[str]) -> tuple[str | None, str | None]:
    lower = name.lower()
    if lower not in shells and lower.rpartition("__")[2] not in shells:
        return None, None
    for field in fields:
        value = arguments.get(field)
        if isinstance(value, str):
            return value, field
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return (value[-1] if len(value) > 1 and value[-2] in ("-c", "-lc") else " ".join(value)), field
    return None, None


def _key(name: str, arguments: Mapping[str, Any], command: str | None) -> str:
    same = " ".join(command.split()).encode("utf-8", "replace") if command is not None else _encode(arguments)
    return blake2b(name.encode("utf-8", "replace") + b"\0" + same, digest_size=8).hexdigest()


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
