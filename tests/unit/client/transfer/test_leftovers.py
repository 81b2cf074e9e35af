"""What dead processes left goes; what living ones need stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchloop_client.transfer import owners
from benchloop_client.transfer.journal import Entry, Journal
from benchloop_client.transfer.leftovers import KEPT_FOR, Mark, sweep
from benchloop_client.transfer.resume import Parts
from benchloop_client.transfer.ways import part_name

_DIES = """
import os, sys; from pathlib import Path
from benchloop_client.transfer.leftovers import Mark; from benchloop_client.transfer.resume import Parts
from benchloop_client.transfer.ways import part_name
root = Path(sys.argv[1]); mark = Mark(root)
for place in ("x.json", "G/J1/a.tgz", "G/b.tgz"):
    mark.writes(place); path = root / place; path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(part_name(path.name)).write_bytes(b"half")
part = Parts(root).open("s", "big"); part.begin(etag='"v"', total=9); part.write(b"abc"); part.checkpoint(3, force=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An output directory in which a process died."""
    subprocess.run([sys.executable, "-c", _DIES, str(tmp_path)], check=False, timeout=60)
    return tmp_path


def small(root: Path) -> list[str]:
    """The small part files."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob(".*.part"))


def test_small_part_files_of_a_dead_process_go(root: Path) -> None:
    (root / "Other").mkdir()
    foreign = root / "Other" / ".mine.123456789abc.part"
    foreign.write_bytes(b"not of this program's dead process")
    mine = root / "G" / part_name("c.tgz")
    mine.write_bytes(b"being written")
    assert len(small(root)) == 5
    with Journal(root) as journal:
        assert sweep(root, journal) == 3
        assert sweep(root, journal) == 0
    assert small(root) == sorted([mine.relative_to(root).as_posix(), "Other/.mine.123456789abc.part"])


def test_a_part_that_can_be_continued_stays(root: Path) -> None:
    with Journal(root) as journal:
        sweep(root, journal)
    state = Parts(root).peek("s", "big")
    assert state is not None
    assert state.offset == 3


def test_a_part_whose_file_was_finished_goes(root: Path) -> None:
    time.sleep(0.01)
    with Journal(root) as journal:
        journal.add(Entry(path="big", source="s", status="done", size=9))
        sweep(root, journal)
    assert list((root / ".benchloop" / "parts").iterdir()) == []


@pytest.mark.parametrize(("source", "status"), [("t", "done"), ("s", "failed")])
def test_a_part_of_something_else_stays(root: Path, source: str, status: str) -> None:
    with Journal(root) as journal:
        journal.add(Entry(path="big", source=source, status=status, size=9))  # type: ignore[arg-type]
        sweep(root, journal)
    assert Parts(root).peek("s", "big") is not None


def test_a_part_that_nobody_wants_for_a_week_goes(root: Path) -> None:
    old = time.time() - KEPT_FOR - 60
    for path in (root / ".benchloop" / "parts").iterdir():
        os.utime(path, (old, old))
    with Journal(root) as journal:
        sweep(root, journal)
    assert list((root / ".benchloop" / "parts").iterdir()) == []


def test_a_part_in_use_stays_whatever_its_age(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal, Parts(tmp_path).open("s", "big") as part:
        part.begin(etag='"v"')
        part.write(b"abc")
        part.checkpoint(3, force=True)
        for path in part.path.parent.iterdir():
            os.utime(path, (1, 1))
        assert sweep(tmp_path, journal) == 0
        part.abandon()


def test_a_mark_is_gone_after_an_orderly_end(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    mark.writes("G/a")
    assert len(list((tmp_path / ".benchloop" / "running").iterdir())) == 1
    mark.remove()
    assert not (tmp_path / ".benchloop" / "running").exists()


@pytest.mark.parametrize("name", ["", "x", "1-2", "999999999-1-deadbeef"])
def test_what_is_no_owner_is_dead(tmp_path: Path, name: str) -> None:
    assert not owners.lives(name, tmp_path / "sign")


def test_another_process_that_had_this_number_is_dead(tmp_path: Path) -> None:
    number, _, host = owners.me().split("-")
    assert not owners.lives(f"{number}-1-{host}", tmp_path / "sign")


def test_this_process_lives(tmp_path: Path) -> None:
    assert owners.lives(owners.me(), tmp_path / "sign")
