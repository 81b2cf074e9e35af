"""What is typed as ids."""

from __future__ import annotations

import io
from typing import TextIO

import click
import pytest

from benchloop_client.cli import ids


def _typed(text: str | bytes) -> TextIO:
    raw = text if isinstance(text, bytes) else text.encode()
    return io.TextIOWrapper(io.BytesIO(raw), encoding="ascii")


def _parse(*values: str, stdin: TextIO | None = None) -> tuple[str, ...]:
    return ids.parse(values, "job id", stdin=stdin, say=lambda _: None)


def test_repeated_and_comma_lists_are_one_list_without_repeats() -> None:
    assert _parse("J1, J2 ,,J1", "J3", "J2") == ("J1", "J2", "J3")


def test_stdin_is_split_on_white_space_and_commas() -> None:
    assert _parse("-", "J1", stdin=_typed("J2\nJ1,J3\t J4\n,")) == ("J2", "J1", "J3", "J4")


def test_stdin_is_utf8_whatever_the_locale_and_may_begin_with_a_mark() -> None:
    assert _parse("-", stdin=_typed(b"\xef\xbb\xbf\xe5\x90\x8d")) == ("名",)


def test_a_dash_inside_a_list_is_an_id() -> None:
    assert _parse("J1,-") == ("J1", "-")


@pytest.mark.parametrize("value", [".", "..", "a\0b", "J1,..", "", " , "])
def test_ids_that_no_request_is_made_for_are_usage_errors(value: str) -> None:
    with pytest.raises(click.BadParameter):
        _parse(value)


def test_stdin_can_be_asked_for_once() -> None:
    with pytest.raises(click.BadParameter, match="once"):
        _parse("-", "-", stdin=_typed("J1"))


@pytest.mark.parametrize("stdin", [None, _typed(b"\xff\xfe")])
def test_stdin_that_is_not_there_or_not_text_is_a_usage_error(stdin: TextIO | None) -> None:
    with pytest.raises(click.BadParameter):
        _parse("-", stdin=stdin)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_at_the_terminal_is_told_that_ids_are_awaited() -> None:
    said: list[str] = []
    assert ids.parse(["-"], "job id", stdin=_Terminal("J1"), say=said.append) == ("J1",)
    assert said == ["reading job ids from the terminal: one a line, end with Ctrl-D"]


@pytest.mark.parametrize("value", ["", " ", ".", "..", "a/b", "a\\b", "a\0"])
def test_task_ids_hold_no_separators(value: str) -> None:
    with pytest.raises(click.BadParameter):
        ids.task_id(value)


def test_task_id_is_trimmed_and_not_split() -> None:
    assert ids.task_id(" a,b ") == "a,b"
