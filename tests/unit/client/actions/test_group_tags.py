"""What becomes of a group's tags."""

from __future__ import annotations

import pytest

from benchloop_client.actions.groups import Tags, retagged


@pytest.mark.parametrize(
    ("tags", "present", "wanted"),
    [
        (Tags(("a",)), ["b"], ["b", "a"]),
        (Tags(("a", "a", "b")), ["b"], ["b", "a"]),
        (Tags((), ("b",)), ["a", "b"], ["a"]),
        (Tags(("b",), ("b",)), ["a", "b"], ["a", "b"]),
        (Tags((), ("x",)), ["a"], ["a"]),
        (Tags(("n",), (), cleared=True), ["a", "b"], ["n"]),
        (Tags(cleared=True), ["a"], []),
    ],
)
def test_tags(tags: Tags, present: list[str], wanted: list[str]) -> None:
    assert tags.of(present) == wanted
    assert retagged(tags)({"tags": present}) == {"tags": wanted}


def test_a_group_without_tags_gets_them() -> None:
    assert retagged(Tags(("a",)))({"tags": None}) == {"tags": ["a"]}
