"""A run is read the same however its folder is named: from where the user stands, by a link, or in full."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, RunJob
from benchloop_client.samples import write_samples


def _read(path: Path) -> dict[str, tuple[list[str], list[tuple[str, bytes]]]]:
    """Job → names of its files, and of its media with their bytes."""
    found = {}
    for group in open_run(path, options=ReadOptions()).groups:
        for job in group.jobs():
            assert isinstance(job, RunJob), str(job)
            media = sorted((one.name, one.source.read_bytes()) for one in job.media)
            found[job.location.rpartition("/")[2]] = (sorted(file.path for file in job.files), media)
    return found


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The samples, with the working folder beside them."""
    write_samples(tmp_path / "runs")
    (tmp_path / "link").symlink_to(tmp_path / "runs" / "step-100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["runs/step-100", "./runs/step-100", "runs/../runs/step-100", "link"])
def test_a_run_with_images_is_read_by_any_name(runs: Path, name: str) -> None:
    whole = _read(runs / "runs" / "step-100")
    assert any(media for _, media in whole.values())
    assert _read(Path(name)) == whole


def test_a_document_with_images_is_read_by_any_name(runs: Path) -> None:
    agent = next(place for place in (runs / "runs" / "step-100").rglob("trajectory.json") if (place.parent / "images").is_dir()).parent
    whole = _read(agent)
    assert any(media for _, media in whole.values())
    assert _read(Path(os.path.relpath(agent))) == whole
    Path("agent-link").symlink_to(agent)
    assert _read(Path("agent-link")) == whole
