"""The tables and rules as JSON say what the YAML files say."""

from __future__ import annotations

import pytest

from benchloop_analysis import packaged
from benchloop_analysis.tables import Errors
from tools import tables


def test_the_compiled_file_is_in_step() -> None:
    assert tables.TARGET.read_bytes() == tables.compiled(), "run `python tools/tables.py`"


@pytest.mark.parametrize("name", ["data/errors.yaml", "rules/5_limits.yaml"])
def test_a_value_is_that_of_its_text(name: str) -> None:
    ours, theirs = packaged.value(name), packaged.parse(packaged.text(name))
    assert list(ours) == list(theirs) and str(ours.get("version")) == str(theirs.get("version"))


def test_numbers_as_keys_come_back_as_numbers() -> None:
    assert all(isinstance(code, int) for code in Errors(packaged.value("data/errors.yaml")).codes)
    assert Errors(packaged.parse(packaged.text("data/errors.yaml"))).codes == Errors(packaged.value("data/errors.yaml")).codes
