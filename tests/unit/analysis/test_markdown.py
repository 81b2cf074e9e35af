"""Text from runs in Markdown: shown as it is, and never markup, HTML, a link, or a sign that hides or turns what follows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchloop_analysis import markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NASTY = [
    "# head", "- item", "1. one", "1234567890) x", "> quote", "---", "===", "    code", "~~~", "```", "``", "a ` b", "*b* _i_ __x__ ~~s~~",
    "[l](http://e.example)", "![i](x)", "<b>x</b>", "<script>alert(1)</script>", "&amp; &#60;", "a | b", "a \\| b", "a\\", "\\",
    "http://e.example www.e.example x@e.example", "\x1b[31mred\x1b[0m", "a\u202eb", "a\u200bb", "a\r\nb", "a\n\n# b", "a\tb", "\x00",
    "\ud800", "\ufeff", "\u2028", "[step 1](#step-1)", "$x$", ":smile:", "", " ", "`", "| --- |",
]  # fmt: skip
ANY = st.one_of(st.text(max_size=60), st.text(alphabet="`|\\<>[]()#*_~-=+&!.\n\t 1a", max_size=40), st.sampled_from(NASTY))
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co"}


def tokens(source: str) -> list[Token]:
    """Every token, those of inline text too."""
    return [inner for token in PARSER.parse(source) for inner in (token, *(token.children or ()))]


def kinds(source: str) -> set[str]:
    return {token.type for token in tokens(source)}


def is_clean(source: str) -> bool:
    """No sign stands in the source that is not seen as itself; line breaks are our own."""
    return all(unicodedata.category(sign) not in HIDDEN for sign in source.replace("\n", ""))


@settings(deadline=None)
@given(ANY)
@example("a\\|b\\")
def test_inline_text_is_words_only(text: str) -> None:
    source = f"- {markdown.inline(text)}"
    assert is_clean(source)
    assert kinds(source) <= {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "text_special", "paragraph_close", "list_item_close",
        "bullet_list_close",
    }  # fmt: skip
    shown = "".join(token.content for token in tokens(source) if token.type in {"text", "text_special"})
    assert shown == " ".join(markdown.visible(text).split())


@settings(deadline=None)
@given(ANY)
def test_a_code_span_is_one_and_shows_the_text(text: str) -> None:
    source = f"x {markdown.code(text)} y"
    assert is_clean(source)
    (span,) = [token for token in tokens(source) if token.type == "code_inline"] or [None]
    shown = markdown.visible(text)
    assert (span is None) == (not shown.strip())
    if span is not None:
        assert span.content.strip() == markdown.joined_lines(shown).strip()
    assert kinds(source) <= {"paragraph_open", "inline", "text", "code_inline", "paragraph_close"}


@settings(deadline=None)
@given(st.lists(ANY, min_size=1, max_size=4))
def test_a_table_keeps_its_cells(texts: list[str]) -> None:
    source = markdown.table(["head"] * len(texts), [[markdown.cell(text) for text in texts]])
    assert is_clean(source)
    found = tokens(source)
    assert [token.type for token in found].count("td_open") == len(texts)
    assert [token.type for token in found].count("tr_open") == 2
    assert not {token.type for token in found} & {"html_inline", "html_block", "link_open", "image", "em_open", "strong_open", "fence"}
    row = [token for token in found if token.type == "inline"][len(texts) :]
    for text, cell in zip(texts, row, strict=True):
        shown = "".join(child.content for child in cell.children or ())
        expected = markdown.visible(text)
        assert "".join(shown.split()) == "".join(expected.split()) or (shown == "(empty)" and not expected.strip())


@settings(deadline=None)
@given(ANY)
def test_a_fence_holds_everything(text: str) -> None:
    source = f"before\n\n{markdown.fenced(text)}\n\nafter"
    assert is_clean(source)
    blocks = PARSER.parse(source)
    assert [token.type for token in blocks if token.nesting == 0 and token.type != "inline"] == ["fence"]
    fence = next(token for token in blocks if token.type == "fence")
    assert fence.content.rstrip("\n") == markdown.visible(text, lines=True).rstrip("\n")
    assert blocks[-2].content == "after"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202etxt.exe", "a\\u202etxt.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("half \ud83d", "half \\ud83d"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("two\nlines", "two⏎lines"),
        ("Grüße 日本 🎉", "Grüße 日本 🎉"),
    ],
)
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    assert markdown.visible(text) == shown


@pytest.mark.parametrize("make", [markdown.inline, markdown.code, markdown.cell])
def test_nothing_becomes_an_address(make: Callable[[str], str]) -> None:
    """Viewers that make links of bare addresses look for them outside of code."""
    outside = re.sub(r"(`+).*?\1", "", make("see http://e.example, www.e.example and x@e.example"))
    assert "http://" not in outside and "www." not in outside and not re.search(r"\w@", outside)


def test_links_to_steps_are_few() -> None:
    assert markdown.step_links([3, 3, 4]) == "[step 3](#step-3), [step 4](#step-4)"
    assert markdown.step_links(range(9)).endswith("[step 4](#step-4) and 4 more")


def test_a_table_without_rows_is_nothing() -> None:
    assert markdown.table(["a"], []) == "" and markdown.joined(["a", "", "b"]) == "a\n\nb\n"
