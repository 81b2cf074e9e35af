"""`bl verify` and `bl retry` against the real application."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from benchloop_client.transfer.journal import Journal
from tests.joined.test_bulk_downloads import JOBS, job, tree
from tests.support.inside import Inside
from tests.support.pushing import push
from tests.support.served import Served


@pytest.fixture
def bl(served: Served) -> Inside:
    """`bl` in this process, with a group of six jobs on the server."""
    push(served, *(job(number) for number in range(JOBS)))
    return Inside(served.url, served.key())


@pytest.fixture
def out(bl: Inside, tmp_path: Path) -> Path:
    """A folder into which everything was downloaded."""
    root = tmp_path / "out"
    everything = "metrics,trajectory,artifacts,tasks,jobs,metadata"
    assert bl("pull", "-g", "g1", "--with", everything, "-o", str(root)).code == 0
    assert bl("--no-pretty", "trajectory", "download", "-j", "g1-1", "-o", str(root)).code == 0
    assert bl("artifacts", "download", "-j", "g1-1", "-o", str(root)).code == 0
    assert bl("artifacts", "download", "-j", "g1-4", "--member", "b/*", "-o", str(root)).code == 0
    task = bl("download-tasks", "create", "-g", "g1").json[0]["task_id"]
    for what in (("trajectory", "--zip-level", "3"), ("metadata",), ("artifacts",)):
        assert bl(what[0], "download", "--task-id", task, *what[1:], "-o", str(root)).code == 0
    return root


def states(bl: Inside, root: Path) -> dict[str, list[str]]:
    """The paths in each state."""
    found: dict[str, list[str]] = {}
    for row in bl("verify", str(root)).json:
        found.setdefault(row["state"], []).append(row["path"])
    return found


def test_everything_is_well_after_a_download(bl: Inside, out: Path) -> None:
    done = bl("verify", str(out))
    assert done.code == 0, done
    rows = {row["path"]: row["state"] for row in done.json}
    assert set(rows) == set(tree(out))
    assert set(rows.values()) == {"ok", "placeholder"}
    assert f"{len(rows)} file(s): " in done.err


def test_each_fault_is_told_and_mended(bl: Inside, out: Path) -> None:
    whole = tree(out)
    names = sorted(name for name in whole if "/g1-3.tgz" not in name)
    for number, name in enumerate(names):
        if number % 3 == 0:
            (out / name).unlink()
        elif number % 3 == 1:
            (out / name).write_bytes(whole[name][:-1])
        else:
            (out / name).write_bytes(whole[name][:-1] + bytes([whole[name][-1] ^ 1]))
    (out / "mine.txt").write_text("hello")
    assert bl("verify", str(out)).code == 1
    found = states(bl, out)
    assert (sorted(found["missing"]), found["not promised"]) == (names[::3], ["mine.txt"])
    assert sorted(found["changed"]) == sorted(names[1::3] + names[2::3])
    done = bl("retry", str(out))
    assert done.code == 0, done
    mended = tree(out)
    assert mended.pop("mine.txt") == b"hello"
    zips = [name for name in whole if name.endswith(".zip")]
    assert len(zips) == 2
    assert {name: data for name, data in mended.items() if name not in zips} == {
        name: data for name, data in whole.items() if name not in zips
    }
    assert all(entries(out / name) for name in zips)
    assert bl("verify", str(out)).code == 0


def entries(path: Path) -> list[str]:
    """The names in a whole ZIP."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return archive.namelist()


def test_only_what_is_bad_is_fetched_and_nothing_when_all_is_well(bl: Inside, out: Path) -> None:
    done = bl("retry", str(out))
    assert done.code == 0, done
    assert [line for line in done.err.splitlines() if line.startswith(("wrote", "downloaded"))] == []
    kept = {name: (out / name).stat().st_mtime_ns for name in tree(out)}
    (out / "g1/trajectory.json").unlink()
    assert bl("retry", str(out)).code == 0
    touched = [name for name, when in kept.items() if (out / name).stat().st_mtime_ns != when]
    assert [name for name in touched if "g1-3" not in name] == ["g1/trajectory.json"]


def test_a_selection_is_fetched_again_as_it_was(bl: Inside, tmp_path: Path) -> None:
    root = tmp_path / "few"
    assert bl("trajectory", "download", "-g", "g1", "--sample", "3", "--seed", "x y", "-o", str(root)).code == 0
    whole = tree(root)
    (root / "g1/trajectory.json").write_bytes(b"{}")
    assert bl("retry", str(root)).code == 0
    assert tree(root) == whole
    assert len(json.loads(whole["g1/trajectory.json"])["trajectories"]) == 3


def test_what_is_gone_from_the_server_is_a_failure_and_stays_as_it_is(bl: Inside, out: Path, served: Served) -> None:
    assert bl("groups", "delete", "-g", "g1", "--yes").code == 0
    (out / "g1/trajectory.json").write_bytes(b"{}")
    done = bl("retry", str(out))
    assert done.code == 1
    assert "g1/trajectory.json" in done.err
    assert (out / "g1/trajectory.json").read_bytes() == b"{}"
    assert states(bl, out)["failed"] == ["g1/trajectory.json"]


def test_another_server_is_only_asked_when_it_is_named(bl: Inside, out: Path, served: Served) -> None:
    (out / "g1/trajectory.json").unlink()
    other = Inside("http://127.0.0.1:9", served.key())
    refused = other("retry", str(out))
    assert refused.code == 2
    assert "--host" in refused.err
    assert served.url in refused.err
    assert other("retry", str(out), "--host", served.url).code == 0


def test_a_command_that_was_cut_short_is_named(bl: Inside, out: Path) -> None:
    with Journal(out) as journal:
        journal.begin("bl artifacts download 0123456789abcdef")
    assert "`bl artifacts download` was cut short" in bl("retry", str(out)).err


def test_a_zip_alone_is_held_against_its_manifest(bl: Inside, out: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (name,) = [path.name for path in out.glob("*_trajectories.zip")]
    shutil.copy(out / name, alone / name)
    assert states(bl, alone) == {"ok": [name]}
    data = bytearray((alone / name).read_bytes())
    data[100] ^= 1
    (alone / name).write_bytes(data)
    assert states(bl, alone) == {"changed": [name]}


def test_a_directory_without_a_journal_is_refused(bl: Inside, tmp_path: Path) -> None:
    done = bl("verify", str(tmp_path))
    assert (done.code, "no journal" in done.err) == (1, True)
    assert bl("retry", str(tmp_path)).code == 1
    assert bl("verify", str(tmp_path / "none")).code == 2


def test_a_failure_of_a_download_is_told(bl: Inside, tmp_path: Path) -> None:
    root = tmp_path / "failed"
    assert bl("trajectory", "download", "-j", "nobody,g1-1", "-o", str(root)).code == 1
    found = {row["path"]: row for row in bl("verify", str(root)).json}
    assert found["nobody_trajectory.json"]["state"] == "failed"
    assert "404" in found["nobody_trajectory.json"]["why"]
