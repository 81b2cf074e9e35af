"""Quotes stand where the evidence says, are short, and are found again; a changed one is not."""

from __future__ import annotations

import msgspec
import pytest

from benchloop_analysis import evidence
from benchloop_analysis.case import Case
from benchloop_analysis.records import Event, Evidence, File, JobInput
from tests.unit.analysis.small import call, job, say, sh

LONG = "first line\n\n   the error is here, " + "and it is long " * 40 + "\nlast"
GIVEN = job(
    sh("echo 1\necho 2", LONG), call("Read", "text", file_path="/a"), say(""), files={"verifier/log.txt": "a\n  b  \nc"}, task="Do."
)
EVENTS = Case(GIVEN).events


@pytest.mark.parametrize(
    ("made", "quote"),
    [
        (evidence.of_output("r", EVENTS[1], LONG.index("error")), LONG[LONG.index("error") :][:200]),
        (evidence.of_output("r", EVENTS[1], 0), "first line"),
        (evidence.of_call("r", EVENTS[1], 8), "echo 2"),
        (evidence.of_call("r", EVENTS[2]), '{"file_path":"/a"}'),
        (evidence.of_text("r", EVENTS[0]), "Do."),
        (evidence.of_step("r", EVENTS[3]), "agent"),
        (evidence.of_fact("r", GIVEN.facts, "reward"), "0.0"),
        (evidence.of_file("r", GIVEN.files[0], 4), "b"),
        (evidence.of_file("r", GIVEN.files[0], 0, end=3), "a\n"),
    ],
)
def test_a_quote_is_found_where_it_is_said_to_stand(made: Evidence, quote: str) -> None:
    assert made.quote.strip() == quote.strip()
    assert len(made.quote) <= evidence.LONGEST
    assert evidence.is_verbatim(made, GIVEN)


@pytest.mark.parametrize(
    "change", [{"quote": "something else"}, {"start": 3}, {"step_id": 99}, {"field": "observation.results[7].content"}, {"quote": ""}]
)
def test_a_changed_quote_is_not_found(change: dict[str, object]) -> None:
    made = evidence.of_output("r", EVENTS[1], 0)
    assert not evidence.is_verbatim(msgspec.structs.replace(made, **change), GIVEN)


def test_a_quote_of_a_part_of_a_file_says_no_place() -> None:
    part = File(path="verifier/x", text="a\nb", whole=False)
    made = evidence.of_file("r", part, 2)
    assert (made.start, made.quote) == (None, "b")
    assert evidence.is_verbatim(made, JobInput(job_id="j", facts=GIVEN.facts, files=(part,)))


def test_parts_of_a_content_are_joined_by_newlines() -> None:
    step = call("Read", None, file_path="/a")
    step["observation"] = {
        "results": [{"source_call_id": "c", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}]
    }
    given = job(step)
    event: Event = Case(given).events[1]
    made = evidence.of_output("r", event, 4)
    assert (made.quote, made.start) == ("two", 4)
    assert evidence.is_verbatim(made, given)


@pytest.mark.parametrize(
    ("text", "at", "found"), [("", 0, (0, "")), ("\n\n", 1, (0, "")), ("a\n\n\n", 3, (0, "a")), ("\n\n b", 0, (3, "b"))]
)
def test_blank_lines_are_passed_over(text: str, at: int, found: tuple[int, str]) -> None:
    assert evidence.line_at(text, at) == found
