"""The catalogue: complete, named without doubt, and of a version that changes with its words."""

from __future__ import annotations

from hashlib import sha256

import msgspec
import pytest

from benchloop_analysis.behaviours import CATALOGUE, CATALOGUE_VERSION
from benchloop_analysis.behaviours.observing import SEEN
from benchloop_analysis.behaviours.records import Behaviour

#: Of the catalogue's words. Where it differs, what is stored of runs may mean something else: give it another version, then note both here.
PINNED = ("1", "a2b731af82c566ac")
COUNTS = {
    "exploration": 6,
    "planning": 4,
    "verification": 7,
    "error_recovery": 5,
    "tool_discipline": 6,
    "efficiency": 4,
    "communication": 3,
    "integrity": 5,
}


def test_it_has_forty_behaviours_in_eight_categories() -> None:
    counted: dict[str, int] = {}
    for behaviour in CATALOGUE:
        counted[behaviour.category] = counted.get(behaviour.category, 0) + 1
    assert counted == COUNTS
    assert len({behaviour.id for behaviour in CATALOGUE}) == len({behaviour.name for behaviour in CATALOGUE}) == 40


def test_each_is_looked_for_by_the_function_of_its_name() -> None:
    assert [seen.__name__ for seen in SEEN] == [behaviour.name for behaviour in CATALOGUE]
    assert [(seen.__doc__ or "")[:2] for seen in SEEN] == [behaviour.id for behaviour in CATALOGUE]


@pytest.mark.parametrize("behaviour", CATALOGUE, ids=lambda one: str(one.id))
def test_it_is_explained_in_whole_sentences(behaviour: Behaviour) -> None:
    for text in (behaviour.definition, behaviour.applies):
        assert text is None or (text[0].isupper() and text.endswith((".", ")")) and "  " not in text)


def test_only_what_cannot_be_compared_is_left_out_of_the_comparison() -> None:
    assert [behaviour.name for behaviour in CATALOGUE if not behaviour.scored] == ["relative_length"]


def test_a_changed_word_asks_for_another_version() -> None:
    digest = sha256(msgspec.json.encode(CATALOGUE)).hexdigest()[:16]
    assert (CATALOGUE_VERSION, digest) == PINNED
