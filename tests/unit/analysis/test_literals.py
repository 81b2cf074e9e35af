"""Words that a pattern needs: never a word that a matching text can do without."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_analysis.literals import lowered, matches, needed, possible
from benchloop_analysis.ruleset import default


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("command not found", ("command not found",)),
        ("Could not|cannot", ("could not", "cannot")),
        ("(?:curl|wget): no", ("): no"[1:],)),
        ("(?:curl|wget)", ("curl", "wget")),
        ("^a+bcd", ("abcd",)),
        (r"\d+ passed, \w+", (" passed, ",)),
        (r"exit\.code", ("exit.code",)),
        ("[|]abc[)]", ("abc",)),
        ("abcd?", ("abc",)),
        ("abc{0,1}def", ("def",)),
        ("(?:abc)?", None),
        ("(?:abc)*x|def", None),
        ("(?i)ab", None),
        (r"\w+", None),
        ("", None),
        ("(?=abc)x", None),
        ("naïve text", ("ve text",)),
    ],
)
def test_the_words_of_a_pattern(pattern: str, words: tuple[str, ...] | None) -> None:
    assert needed(pattern) == words


def _patterns() -> list[str]:
    """Every pattern of the rules."""
    found = []
    for bound in default().rules:
        for name in ("patterns", "unless", "files", "paths", "lines", "confirmations"):
            value = getattr(bound.params, name, ())
            found += [value] if isinstance(value, str) else list(value or ())
    return sorted(set(filter(None, found)))


@settings(max_examples=400)
@given(st.data())
def test_a_text_that_a_rule_matches_is_never_left_out(data: st.DataObject) -> None:
    pattern = re.compile(data.draw(st.sampled_from(_patterns())), re.IGNORECASE | re.MULTILINE)
    text = data.draw(st.text(max_size=10)) + data.draw(st.from_regex(pattern)) + data.draw(st.text(max_size=10))
    if pattern.search(text):
        assert possible(pattern, lowered(text)), (pattern.pattern, text)


def test_most_rules_are_spared_a_search() -> None:
    log = lowered("collected 6 items\n\ntests/test_outputs.py ......   [100%]\n" * 20)
    spared = [pattern for pattern in _patterns() if not possible(re.compile(pattern), log)]
    assert len(spared) > 0.5 * len(_patterns())


@settings(max_examples=200)
@given(st.data())
def test_lines_with_a_word_hold_every_match_within_a_line(data: st.DataObject) -> None:
    pattern = re.compile(data.draw(st.sampled_from(_patterns())), re.IGNORECASE | re.MULTILINE)
    lines = data.draw(st.lists(st.one_of(st.text(max_size=12), st.from_regex(pattern)), max_size=5))
    text = "\n".join(lines)
    ours = [match.span() for match in matches(pattern, text, lowered(text))]
    theirs = [match.span() for match in pattern.finditer(text)]
    assert len(lowered(text)) == len(text) and {span for span in theirs if "\n" not in text[slice(*span)]} <= set(ours)


@pytest.mark.parametrize("text", ["İ ERROR: x", "naïve ſſ: error", "K error"])
def test_letters_that_change_their_length_move_no_place(text: str) -> None:
    pattern = re.compile("error", re.IGNORECASE)
    assert [match.span() for match in matches(pattern, text, lowered(text))] == [match.span() for match in pattern.finditer(text)]


def test_a_pattern_over_lines_is_searched_for_in_the_whole() -> None:
    text = "begin\nend"
    assert [match.group() for match in matches(re.compile(r"begin\nend"), text, text)] == [text]
    assert [match.group() for match in matches(re.compile(r"begin[^\n]*"), text, text)] == ["begin"]
