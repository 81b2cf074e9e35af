"""Ids: what is refused, what is minted, and that nothing an id holds can leave a folder or a URL segment."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.contract import ids
from benchloop_client.contract.operations import OPERATIONS

ANY_TEXT = st.text(alphabet=st.characters(), min_size=1, max_size=300)


@pytest.mark.parametrize("value", ["", ".", "..", "a\0b"])
def test_no_request_is_made_for_these(value: str) -> None:
    with pytest.raises(ids.BadId):
        ids.check(value)


@pytest.mark.parametrize(
    ("value", "path"), [("a/b", "a%2Fb"), ("J1?x=1", "J1%3Fx%3D1"), ("J#f", "J%23f"), ("é", "%C3%A9"), ("a b", "a%20b")]
)
def test_an_id_stays_one_segment(value: str, path: str) -> None:
    assert ids.segment(value) == path
    assert OPERATIONS["job"].url_path(job_id=value) == f"/openapi/jobs/{path}"


@given(ANY_TEXT)
def test_a_file_name_never_leaves_its_folder(value: str) -> None:
    try:
        name = ids.file_name(value)
    except ids.BadId:
        return
    assert "/" not in name and "\\" not in name and "\0" not in name and name not in {"", ".", ".."}
    assert len(name.encode("utf-8")) <= 255
    assert PurePosixPath("root", name).parts == ("root", name)


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", fullmatch=True))
def test_a_plain_id_is_kept_as_it_is(value: str) -> None:
    if not re.fullmatch(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])", value):
        assert ids.file_name(value) == value
    assert ids.segment(value) == value


def test_unsafe_names_do_not_collide() -> None:
    names = ["a/b", "a%2Fb", "a:b", "a b", "a.", "a", "nul", "NUL.txt"]
    assert len({ids.file_name(name) for name in names}) == len(names)


def test_long_names_differ_when_their_middles_do() -> None:
    first, second = ("x" * 150 + middle + "y" * 150 for middle in "ab")
    assert ids.file_name(first) != ids.file_name(second)


@given(st.text(max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_minted_ids_are_accepted_by_the_server(group: str, key: str, task: str) -> None:
    group_id = ids.mint_group_id(group, key, agent=task, model=key)
    assert ids.MINTED.match(group_id)
    assert ids.MINTED.match(ids.mint_job_id(group_id, key, task))


def test_a_job_id_depends_on_group_and_trial_only() -> None:
    first = ids.mint_job_id("G1", "trial-1", "task")
    assert first == ids.mint_job_id("G1", "trial-1", "task")
    assert len({first, ids.mint_job_id("G2", "trial-1", "task"), ids.mint_job_id("G1", "trial-2", "task")}) == 3
