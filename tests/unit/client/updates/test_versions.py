"""The order of versions is the documented one: release, then a/b/rc, .devN and .postN; what is not understood is never newer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.updates.versions import key, newer, preliminary, suits

#: Each is older than the next.
ASCENDING = [
    "0.9",
    "1.0.dev1",
    "1.0a1.dev2",
    "1.0a1",
    "1.0a2",
    "1.0b1",
    "1.0rc1",
    "1.0",
    "1.0.post1.dev1",
    "1.0.post1",
    "1.0.1",
    "1.2",
    "1.10",
    "2",
]


def test_versions_stand_in_this_order() -> None:
    for place, low in enumerate(ASCENDING):
        for high in ASCENDING[place + 1 :]:
            assert newer(high, low), f"{high} > {low}"
            assert not newer(low, high), f"{low} < {high}"


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1.0.0"), ("1.2.0", "1.2"), ("1.0+local.1", "1.0"), ("v1.0", "1.0"), ("1.0alpha1", "1.0a1"), ("1.0-1", "1.0.post1")],
)
def test_these_are_the_same(one: str, other: str) -> None:
    assert key(one) == key(other) is not None


@pytest.mark.parametrize("text", ["", "1!2.0", "latest", "1.0-beta-x", "1.0 2", "1..0", "١.٢", "9" * 5000])
def test_what_is_not_understood_is_never_newer(text: str) -> None:
    assert not newer(text, "0.1")
    assert not newer("1.0", text)


@given(st.text(max_size=30))
def test_no_text_is_an_error(text: str) -> None:
    assert newer(text, text) is False


def test_preliminary_versions() -> None:
    assert [version for version in ASCENDING if preliminary(version)] == [
        "1.0.dev1", "1.0a1.dev2", "1.0a1", "1.0a2", "1.0b1", "1.0rc1", "1.0.post1.dev1",
    ]  # fmt: skip
    assert not preliminary("nonsense")


@pytest.mark.parametrize(
    ("requirement", "fits"),
    [
        (">=3.10", True),
        (">=3.12", False),
        (">=3.8,<4", True),
        ("<3.11", False),
        (">3.11", True),
        ("<=3.11", False),
        (">=3.11.8", False),
        ("==3.9.*", True),
        ("rubbish", True),
        ("", True),
    ],
)
def test_a_certainly_unfit_python_is_seen(requirement: str, fits: bool) -> None:
    assert suits(requirement, (3, 11, 7)) is fits
