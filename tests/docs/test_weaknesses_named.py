"""Every weakness of the original client that can apply to ours has a test that bears its name, or a reason in tests/e2e/FAULTS.md."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT

#: How many items each chapter of the list of weaknesses has.
_ITEMS = {"a": 9, "b": 15, "c": 5, "d": 14}
_TEST = re.compile(r"^def test_([a-d]\d+)_", re.MULTILINE)
_ROW = re.compile(r"^\| ([A-D]\d+)[^|]*\| (?=\S)", re.MULTILINE)


def _named() -> set[str]:
    return {name for path in (ROOT / "tests").rglob("test_*.py") for name in _TEST.findall(path.read_text("utf-8"))}


def _left_out() -> set[str]:
    text = (ROOT / "tests" / "e2e" / "FAULTS.md").read_text("utf-8").partition("## What has no test")[2]
    return {name.lower() for name in _ROW.findall(text)}


def test_every_weakness_has_a_test_of_its_name_or_a_reason() -> None:
    wanted = {f"{chapter}{number}" for chapter, count in _ITEMS.items() for number in range(1, count + 1)}
    assert wanted - _named() - _left_out() == set()
    assert _named() <= wanted


def test_the_reasons_are_about_weaknesses_that_exist() -> None:
    assert _left_out() <= {f"{chapter}{number}" for chapter, count in _ITEMS.items() for number in range(1, count + 1)}
