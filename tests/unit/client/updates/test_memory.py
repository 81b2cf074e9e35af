"""The file that remembers: documented keys, one look-up a day, failures and cut-off look-ups included, and no harm in any content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.updates.memory import DAY, FIRST_PAUSE, Memory, Remembered

NOW = 1_800_000_000.0
US = "https://project.test/"


def test_the_file_is_where_it_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Memory.of({}, tmp_path).path == tmp_path / ".cache/benchloop/version-check.json"
    assert Memory.of({"XDG_CACHE_HOME": str(tmp_path / "x")}, tmp_path).path == tmp_path / "x/benchloop/version-check.json"
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert Memory.of({"XDG_CACHE_HOME": "~/c"}, tmp_path).path == tmp_path / "me/c/benchloop/version-check.json"


def test_the_keys_are_the_documented_ones(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "a" / "b.json")
    assert memory.write(Remembered().begun(NOW).ended(US, "1.2.0", NOW + 1))
    assert json.loads(memory.path.read_text()) == {"checked_at": NOW + 1, "latest_version": "1.2.0", "project": US}
    assert memory.path.stat().st_mode & 0o777 == 0o600
    assert memory.read().latest_version == "1.2.0"
    assert [path.name for path in memory.path.parent.iterdir()] == ["b.json"]


@pytest.mark.parametrize(("age", "due"), [(0, False), (DAY - 1, False), (DAY, True), (-1, True)])
def test_an_answer_is_good_for_a_day(age: float, due: bool) -> None:
    known = Remembered(checked_at=NOW - age, latest_version="1.2", project=US)
    assert known.due(US, NOW) is due
    assert known.known(US, NOW) == ("" if due else "1.2")


def test_what_another_program_of_our_name_remembers_is_nothing_to_us() -> None:
    theirs = Remembered(checked_at=NOW, latest_version="7.0")
    assert theirs.due(US, NOW)
    assert theirs.known(US, NOW) == ""


def test_a_failure_is_remembered_for_a_day() -> None:
    failed = Remembered().begun(NOW).failed(NOW)
    assert not failed.due(US, NOW + DAY - 1)
    assert failed.due(US, NOW + DAY)


def test_look_ups_that_were_cut_off_are_begun_again_ever_more_rarely() -> None:
    now, memory, begun = NOW, Remembered(), 0
    while now < NOW + DAY:
        if memory.due(US, now):
            memory, begun = memory.begun(now), begun + 1
        now += 60
    assert begun == 8
    assert not memory.due(US, memory.tried_at + FIRST_PAUSE)


def test_one_notice_a_day() -> None:
    told = Remembered().notified(NOW)
    assert not told.may_notify(NOW + DAY - 1)
    assert told.may_notify(NOW + DAY)
    assert Remembered().may_notify(NOW)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"checked_at": "x"}',
        b'{"latest_version": 7}',
        b"\xff",
        b'{"tries": -1}',
        b'{"tries": 1e9}',
        b"[" * 9000,
    ],
)
def test_a_broken_file_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    assert Memory(tmp_path / "f").read() == Remembered()


def test_the_original_clients_file_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(json.dumps({"checked_at": 1700000000.5, "latest_version": "0.2.25"}))
    assert Memory(tmp_path / "f").read() == Remembered(checked_at=1700000000.5, latest_version="0.2.25")


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not Memory(tmp_path / "file" / "version-check.json").write(Remembered())
    assert Memory(tmp_path / "file" / "version-check.json").read() == Remembered()


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18)


@given(
    values=st.fixed_dictionaries({}, optional=dict.fromkeys(("checked_at", "failed_at", "tried_at", "notified_at", "tries"), numbers)),
    now=st.floats(0, 1e12),
)
def test_no_numbers_in_the_file_are_an_error(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any], now: float) -> None:
    memory = Memory(tmp_path_factory.mktemp("m") / "f")
    memory.path.write_text(json.dumps(values))
    found = memory.read()
    found.due(US, now)
    found.may_notify(now)
    found.known(US, now)
