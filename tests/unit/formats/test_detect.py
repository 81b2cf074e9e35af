"""Which reader is chosen for a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchloop_client.formats.detect import detect, open_run
from benchloop_client.formats.records import UnreadableRun
from tests.unit.formats.harbor_dirs import trajectory, write, write_job, write_trial
from tests.unit.formats.test_tau_results import record


def test_each_format_is_known_by_its_content(tmp_path: Path) -> None:
    write_trial(write_job(tmp_path / "h" / "jobs" / "run"), "a__1111111")
    write(tmp_path / "t" / "deep" / "r.json", json.dumps([record()]))
    write(tmp_path / "a" / "x.json", trajectory("m"))
    assert [detect(tmp_path / name) for name in ("h", "t", "a")] == ["harbor", "tau", "atif"]
    assert detect(tmp_path / "t" / "deep" / "r.json") == "tau" and detect(tmp_path / "a" / "x.json") == "atif"


@pytest.mark.parametrize("name", ["absent", "empty", "notes.txt", "other.json"])
def test_what_nobody_knows_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "notes.txt", "hello")
    write(tmp_path / "other.json", {"a": 1})
    with pytest.raises(UnreadableRun, match=name):
        open_run(tmp_path / name)


def test_an_unknown_format_and_several_lists(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="'csv'"):
        open_run(tmp_path, format="csv")
    for name in ("a", "b"):
        write(tmp_path / f"{name}.json", json.dumps([record()]))
    with pytest.raises(UnreadableRun, match=r"a\.json, b\.json"):
        open_run(tmp_path)
