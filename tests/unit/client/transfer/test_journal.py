"""The journal survives torn lines, several processes and unfinished runs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchloop_client.errors import LocalError
from benchloop_client.transfer.journal import Entry, Journal


def entry(path: str, size: int = 3, **rest: object) -> Entry:
    return Entry(path=path, status="done", size=size, sha256="ab", source="trajectory J", **rest)  # type: ignore[arg-type]


def test_what_was_added_is_found_also_after_reopening(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("a", etag='"1"'))
        assert journal.get("a") is not None and journal.get("b") is None
    with Journal(tmp_path) as journal:
        found = journal.get("a")
        assert found is not None
        assert (found.size, found.etag, found.durable) == (3, '"1"', False)
        assert found.at.endswith("Z")


def test_each_line_is_one_object_with_the_agreed_keys(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("ü/x.json", durable=True))
    line = json.loads((tmp_path / ".benchloop" / "journal.jsonl").read_text())
    assert {"path", "size", "sha256", "source", "status", "durable", "at"} == set(line)


def test_the_latest_line_counts(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("a", 1))
        journal.add(entry("b", 1))
        journal.add(entry("a", 2))
        assert [(e.path, e.size) for e in journal.entries()] == [("b", 1), ("a", 2)]


def test_a_torn_last_line_is_ignored_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("a"))
        journal.add(entry("b"))
    path = tmp_path / ".benchloop" / "journal.jsonl"
    whole = path.read_bytes()
    for cut in range(1, 60, 7):
        path.write_bytes(whole[:-cut])
        with Journal(tmp_path) as journal:
            assert journal.get("a") is not None
            assert (journal.get("b") is None) == (cut > 1)
            journal.add(entry("c"))
        with Journal(tmp_path) as journal:
            assert journal.get("a") is not None and journal.get("c") is not None


def test_rubbish_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / ".benchloop" / "journal.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'\x00\x00\n[]\n{"path": 3}\n\xff\n\n{"path":"a","status":"done","new":1}\n')
    with Journal(tmp_path) as journal:
        assert [e.path for e in journal.entries()] == ["a"]


def test_threads_may_share_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:

        def add(number: int) -> None:
            for i in range(100):
                journal.add(entry(f"{number}/{i}", i))

        threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert all((found := journal.get(f"{n}/{i}")) is not None and found.size == i for n in range(8) for i in range(100))


def test_processes_may_share_it(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from benchloop_client.transfer.journal import Entry, Journal
with Journal(Path({str(tmp_path)!r})) as journal:
    for i in range(200):
        journal.add(Entry(path=f"{{sys.argv[1]}}/{{i}}", status="done", size=i, source="x" * (i * 7)))
        found = journal.get(f"{{sys.argv[1]}}/{{i}}")
        assert found is not None and found.size == i
"""
    started = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    with Journal(tmp_path) as journal:
        assert sum(1 for _ in journal.entries()) == 600


def test_an_unfinished_run_is_resumed_a_finished_one_is_not(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        assert not journal.begin("pull G")
        journal.add(entry("a"))
    with Journal(tmp_path) as journal:
        assert not journal.begin("pull H")
        assert not journal.trusted("a")
    with Journal(tmp_path) as journal:
        assert journal.begin("pull G")
        assert journal.trusted("a") and not journal.trusted("b")
        journal.finish("pull G")
    with Journal(tmp_path) as journal:
        assert not journal.begin("pull G")
        assert not journal.trusted("a")


def test_marking_durable(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("a"))
        journal.mark_durable("a")
        journal.mark_durable("nothing")
        found = journal.get("a")
        assert found is not None and found.durable


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match="journal"):
        Journal(tmp_path / "file")


def test_half_an_emoji_in_a_path_does_not_break_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(entry("a\udcff"))
        assert sum(1 for _ in journal.entries()) == 1
