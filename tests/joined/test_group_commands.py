"""`bl groups delete|rename|tag|note` and `bl whoami` against the real application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.programs import Bl
from tests.support.served import Served


@pytest.fixture
def bl(served: Served, tmp_path: Path) -> Bl:
    for group in ("G1", "G2"):
        answer = served.request("PUT", f"/openapi/groups/{group}", json={"name": f"run {group}"})
        assert answer.status in {200, 201}, answer.data
    return Bl(tmp_path, served.url, served.key())


def test_rename_and_back(bl: Bl) -> None:
    done = bl("groups", "rename", "-g", "G1", "nightly, 新")
    assert (done.code, done.json[0]["name"]) == (0, "nightly, 新")
    assert bl("groups", "rename", "-g", "G1", "--reset").json[0]["name"] == "run G1"


def test_tags_are_put_on_and_taken_off(bl: Bl) -> None:
    assert [row["tags"] for row in bl("groups", "tag", "-g", "G1,G2", "a", "b c").json] == [["a", "b c"]] * 2
    assert bl("groups", "tag", "-g", "G1", "d", "a", "--remove", "b c").json[0]["tags"] == ["a", "d"]
    assert bl("groups", "tag", "-g", "G1", "--clear", "x").json[0]["tags"] == ["x"]
    assert bl("groups", "tag", "-g", "G1", "--clear").json[0]["tags"] == []
    assert bl("groups", "get", "-g", "G2").json[0]["tags"] == ["a", "b c"]


def test_a_note_is_written_and_taken_away(bl: Bl) -> None:
    assert bl("groups", "note", "-g", "G1", "why: 新").json[0]["note"] == "why: 新"
    assert bl("groups", "note", "-g", "G1", "-", stdin="two\nlines\n").json[0]["note"] == "two\nlines"
    assert bl("groups", "note", "-g", "G1", "--clear").json[0]["note"] is None


def test_delete_asks_for_consent(bl: Bl) -> None:
    refused = bl("groups", "delete", "-g", "G1")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = bl("groups", "delete", "-g", "G1", "--yes")
    assert (done.code, done.json) == (0, [{"group_id": "G1", "jobs": 0}])
    assert bl("groups", "get", "-g", "G1").code == 1
    assert bl("groups", "get", "-g", "G2").code == 0


def test_one_that_fails_does_not_stop_the_others(bl: Bl) -> None:
    done = bl("groups", "tag", "-g", "NOPE,G2", "a")
    assert (done.code, [row["group_id"] for row in done.json]) == (1, ["G2"])
    assert "NOPE" in done.err
    bad = bl("groups", "tag", "-g", "G1", "a,b")
    assert (bad.code, bad.json) == (1, [])


@pytest.mark.parametrize(
    "command",
    [
        ("rename", "-g", "G1"),
        ("rename", "-g", "G1", "x", "--reset"),
        ("rename", "-g", "G1,G2", "x"),
        ("tag", "-g", "G1"),
        ("note", "-g", "G1"),
        ("note", "-g", "G1", "x", "--clear"),
        ("note", "-g", "-", "-"),
        ("delete", "--yes"),
    ],
)
def test_unclear_wishes_are_two(bl: Bl, command: Sequence[str]) -> None:
    assert bl("groups", *command, stdin="G1\n").code == 2


def test_whoami_says_whose_key_it_is(bl: Bl, served: Served) -> None:
    (found,) = bl("whoami").json
    assert (found["host"], found["workspace"], found["scopes"]) == (served.url, "default", ["read", "write"])
    assert found["key_hint"] == served.key()[:8]
    assert served.key() not in bl("whoami", "--format", "table").out


def test_doctor_finds_all_well(bl: Bl) -> None:
    done = bl("doctor")
    assert done.code == 0, done
    assert "workspace default" in done.out
