"""A long text laid out piece by piece looks as it does laid out at once."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.actions.indenter import Indenter
from benchloop_client.actions.layout import Layout
from benchloop_client.errors import IntegrityError

_TEXT = st.text(alphabet=st.sampled_from('ab"\\\n\t{}[],: ü新🙂\x01'), max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


def laid_out(raw: bytes, cuts: list[int], layout: Layout) -> bytes:
    """`raw` through the indenter in pieces."""
    indenter = Indenter(layout)
    ends = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    pieces = [indenter.feed(raw[start:end]) for start, end in itertools.pairwise(ends)]
    return b"".join(pieces) + indenter.finish()


@settings(deadline=None)
@given(value=st.dictionaries(_TEXT, _VALUES, max_size=4), cuts=st.lists(st.integers(0, 400), max_size=30), depth=st.integers(0, 3))
def test_equal_to_the_text_laid_out_at_once(value: dict[str, Any], cuts: list[int], depth: int) -> None:
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    for layout in (Layout(depth=depth), Layout(pretty=False)):
        assert laid_out(raw, cuts, layout) == layout.text(raw)


@pytest.mark.parametrize("raw", [b'{"a":[1', b'{"a', b'{"a":"b\\', b"[", b"]", b'{"a":1}}'])
def test_what_has_no_end_or_two_is_refused(raw: bytes) -> None:
    with pytest.raises(IntegrityError):
        laid_out(raw, [2, 5], Layout())


def test_endless_depth_is_refused() -> None:
    with pytest.raises(IntegrityError, match="too deeply"):
        laid_out(b"[" * 20_000, [], Layout())
