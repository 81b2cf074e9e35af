"""JSON in the documented layout."""

from __future__ import annotations

import json

import pytest

from benchloop_client.actions.layout import Documents, Layout, Nested, Rows, array_chunks, object_chunks
from benchloop_client.errors import IntegrityError

PRETTY, COMPACT = Layout(), Layout(pretty=False)


@pytest.mark.parametrize("value", [None, {}, [], {"a": []}, [{}], {"a": {"b": [1, {"c": "名"}]}, "d": "\n"}, ["é", 1.5, True]])
def test_values_look_as_the_standard_library_writes_them(value: object) -> None:
    assert PRETTY.value(value).decode() == json.dumps(value, indent=2, ensure_ascii=False)
    assert COMPACT.value(value).decode() == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_numbers_stay_as_the_server_wrote_them() -> None:
    raw = b'{"a":1.0E5,"b":123456789012345678901234567890,"c":-0.0}'
    assert COMPACT.text(raw) == raw


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'["\u4e2d\ud83d\ude00"]', '["中😀"]'),
        (rb'["\\u4e2d\u0041\u0007"]', r'["\\u4e2d\u0041\u0007"]'),
        (rb'["\\\u4e2d"]', '["\\\\中"]'),
    ],
)
def test_escaped_letters_outside_ascii_are_written_as_they_are(raw: bytes, text: str) -> None:
    assert COMPACT.text(raw).decode() == text


@pytest.mark.parametrize(("raw", "value"), [(rb'["\ud83d"]', ["\ufffd"]), (b"[NaN, -Infinity]", [None, None])])
def test_what_is_no_strict_json_is_mended(raw: bytes, value: object) -> None:
    assert json.loads(PRETTY.text(raw)) == value


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[1] x", b"[" * 100_000 + b"]" * 100_000])
def test_what_cannot_be_read_is_refused_in_words(raw: bytes) -> None:
    with pytest.raises(IntegrityError):
        PRETTY.text(raw)


def test_python_values_with_half_an_emoji_can_be_written() -> None:
    assert json.loads(PRETTY.value({"a": "x\ud83d", "b": "\ud83d\ude00"})) == {"a": "x\ufffd", "b": "😀"}


@pytest.mark.parametrize("layout", [PRETTY, COMPACT, Layout(depth=2)])
def test_parts_that_arrive_one_by_one_look_like_one_value(layout: Layout) -> None:
    rows = [{"job_id": "J1", "x": [1]}, {}]
    whole = {"group_id": "G", "total": 2, "jobs": rows, "docs": rows, "none": [], "inner": {"a": [rows]}}
    with Rows(layout.inner(2)) as spooled, Rows(layout.inner(2)) as empty:
        for row in rows:
            spooled.add(row)
        fields = [
            ("group_id", "G"),
            ("total", 2),
            ("jobs", spooled),
            ("docs", Documents(json.dumps(row).encode() for row in rows)),
            ("none", empty),
            ("inner", Nested(lambda inner: object_chunks([("a", [rows])], inner))),
        ]
        text = b"".join(object_chunks(fields, layout))
    assert text == layout.value(whole)
    assert b"".join(array_chunks([], layout)) == b"[]"
    assert b"".join(object_chunks([], layout)) == b"{}"
