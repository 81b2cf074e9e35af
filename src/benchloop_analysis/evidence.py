"""Evidence: made from places in a job, cut to what fits a page, and found again word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from benchloop_analysis.events import content_text
from benchloop_analysis.records import Event, Evidence, Facts, File, JobInput

LONGEST = 200
_INDEX = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")
_encode = msgspec.json.Encoder().encode


def of_output(rule_id: str, event: Event, start: int | None = None) -> Evidence:
    """The output of a call, from the line at `start`, else from the line of its error, else from its first."""
    output = event.output or ""
    at = start if start is not None else event.error_at or 0
    begin, quote = line_at(output, at)
    return Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field=event.output_field, start=begin, quote=quote)


def of_call(rule_id: str, event: Event, start: int = 0) -> Evidence:
    """The call itself: its command from `start`, else its arguments as JSON, else its name, else whose step it is."""
    place = f"tool_calls[{event.call}]"
    value = event.arguments.get(event.command_field) if event.command_field else None
    if event.command_field and isinstance(value, str) and value.strip():
        begin, quote = line_at(value, start)
        field = f"{place}.arguments.{event.command_field}"
    elif event.arguments:
        begin, quote = 0, _encode(event.arguments).decode()[:LONGEST]
        field = f"{place}.arguments"
    elif event.tool:
        begin, quote, field = 0, event.tool[:LONGEST], f"{place}.function_name"
    else:
        begin, quote, field = 0, event.source, "source"
    return Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field=field, start=begin, quote=quote)


def of_argument(rule_id: str, event: Event, name: str, start: int) -> Evidence:
    """A line of a text argument of a call."""
    begin, quote = line_at(event.arguments[name], start)
    field = f"tool_calls[{event.call}].arguments.{name}"
    return Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field=field, start=begin, quote=quote)


def of_text(rule_id: str, event: Event, start: int = 0, *, thinking: bool = False) -> Evidence:
    """Words of the step, from the line at `start`."""
    begin, quote = line_at(event.thinking if thinking else event.text, start)
    field = "reasoning_content" if thinking else "message"
    return Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field=field, start=begin, quote=quote)


def of_step(rule_id: str, event: Event) -> Evidence:
    """Whatever the step shows first: its call, its words, its result; for an empty step, whose it is."""
    if event.tool is not None:
        return of_call(rule_id, event)
    if event.text.strip():
        return of_text(rule_id, event)
    if event.output and event.output.strip():
        return of_output(rule_id, event)
    return Evidence(rule_id=rule_id, source="step", step_id=event.step_id, field="source", start=0, quote=event.source)


def of_fact(rule_id: str, facts: Facts, name: str) -> Evidence:
    """A fact by its name, `meta.NAME` for one of the source's own; a value that is no text as JSON."""
    text = _fact_text(facts, name)
    return Evidence(rule_id=rule_id, source="fact", field=name, start=0, quote=text[:LONGEST])


def of_file(rule_id: str, file: File, at: int, *, end: int | None = None) -> Evidence:
    """The line of a file at `at`, or the text up to `end`."""
    begin, quote = line_at(file.text, at) if end is None else (at, file.text[at:end][:LONGEST])
    return Evidence(rule_id=rule_id, source="file", field=file.path, start=begin if file.whole else None, quote=quote)


def line_at(text: str, at: int) -> tuple[int, str]:
    """The line around `at` without blanks at its ends, and where it begins. Of a line that is too long, the part that begins at `at`.

    Blank lines are passed over, forward and else backward.
    """
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    if not text[begin:end].strip():
        rest = text[begin:]
        left = len(rest) - len(rest.lstrip())
        if left < len(rest):
            return line_at(text, begin + left)
        kept = text.rstrip()
        return line_at(text, len(kept) - 1) if kept else (0, "")
    if end - begin > LONGEST and at > begin:
        begin = at
    line = text[begin:end]
    begin += len(line) - len(line.lstrip())
    return begin, line.strip()[:LONGEST].rstrip()


def source_text(evidence: Evidence, job: JobInput) -> str | None:
    """The text that the evidence cites, None where the job has no such place."""
    if evidence.source == "fact":
        return _fact_text(job.facts, evidence.field)
    if evidence.source == "file":
        return next((file.text for file in job.files if file.path == evidence.field), None)
    steps = (job.document or {}).get("steps") or ()
    step = next((step for step in steps if step["step_id"] == evidence.step_id), None)
    return None if step is None else _field_text(step, evidence.field)


def is_verbatim(evidence: Evidence, job: JobInput) -> bool:
    """Whether the quote stands where the evidence says."""
    text = source_text(evidence, job)
    if text is None or not evidence.quote:
        return False
    return evidence.quote in text if evidence.start is None else text.startswith(evidence.quote, evidence.start)


def _field_text(step: Mapping[str, Any], field: str) -> str | None:
    value: Any = step
    for name, index in _INDEX.findall(field):
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    if isinstance(value, list) and (field == "message" or field.endswith(".content")):
        return content_text(value)
    return _as_text(value)


def _fact_text(facts: Facts, name: str) -> str:
    field, _, key = name.partition(".")
    value = getattr(facts, field, None)
    return _as_text(value.get(key) if key and isinstance(value, Mapping) else value)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _encode(value).decode()
