"""The ZIP files of a download task."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions import task_archives, task_media
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.work import Work
from benchloop_client.actions.zip_parts import zip_chunks
from benchloop_client.errors import AuthError, NetworkError
from tests.support.documented import Documented, document
from tests.support.scripted import Answer, Scripted, binary, error, of_json

Make = Callable[..., Destination]


def _zip(path: Path) -> tuple[list[str], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return archive.namelist(), json.loads(archive.read("manifest.json"))


def _media(uri: str) -> dict[str, Any]:
    return {"trace_media": {"oss_uri": uri, "mime_type": "image/png"}}


def test_trajectories_media_metadata_and_manifest_in_this_order(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    old.trajectories["J2"] = of_json(
        {**document("J2"), "extra": [_media("oss://b/x.png"), _media("oss://c/x.png"), _media("oss://b/x.png")]}
    )
    server.on("GET /openapi/getTrajV2/mediaFile", lambda seen: binary(seen.query["ossUri"].encode(), "image/png"))
    with destination() as target:
        assert task_archives.trajectories(work, "G1", target).ok
    names, manifest = _zip(target.root / "G1_trajectories.zip")
    assert names == [
        *(f"trajectories/J{n}_trajectory.json" for n in (1, 2, 3)),
        "source/J2/x-2.png",
        "source/J2/x.png",
        *(f"metadata/J{n}.json" for n in (1, 2, 3)),
        "manifest.json",
    ]
    assert manifest == {
        "task_id": "G1",
        "group_id": "G1",
        "created_at": "2026-01-01T00:00:00Z",
        "total_jobs": 3,
        "successful_jobs": 3,
        "failed_jobs": 0,
        "success_job_ids": ["J1", "J2", "J3"],
        "failures": [],
        "metadata_failures": [],
        "source_failures": [],
    }
    assert [path.name for path in target.root.iterdir() if path.name != ".benchloop"] == ["G1_trajectories.zip"]


def test_failures_of_each_kind_are_listed_and_the_rest_is_there(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    old.trajectories["J1"] = error(404, "none")
    old.trajectories["J2"] = of_json({**document("J2"), "extra": [_media("oss://a/x"), _media("oss://a/y")]})
    server.on("GET /openapi/jobs/J3/meta", error(403, "not yours"))
    with destination() as target:
        report = task_archives.trajectories(work, "G1", target)
    _, manifest = _zip(target.root / "G1_trajectories.zip")
    assert (manifest["successful_jobs"], manifest["failed_jobs"]) == (2, 1)
    assert manifest["failures"] == [{"job_id": "J1", "error": "API error 404: none"}]
    assert manifest["metadata_failures"] == [{"job_id": "J3", "error": "API error 403: not yours"}]
    assert [entry["job_id"] for entry in manifest["source_failures"]] == ["J2"]
    assert "; " in manifest["source_failures"][0]["error"]
    assert [failure.text.partition(":")[0] for failure in report.failures] == ["API error 404", "source", "source", "meta"]
    with destination(skip_existing=True) as again:
        del old.trajectories["J1"]
        task_archives.trajectories(work, "G1", again)
    assert _zip(target.root / "G1_trajectories.zip")[1]["failed_jobs"] == 0


def test_without_any_job_there_is_no_zip(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    server.on("GET /openapi/jobs/{job}/meta", error(404, "none"))
    with destination() as target:
        assert task_archives.metadata(work, "G1", target).done == 0
    assert not list(target.root.glob("*.zip"))


@pytest.mark.parametrize("answer", [of_json({"job_ids": []}), of_json({"job_ids": ["a", 1]}), of_json([]), error(404, "none")])
def test_a_task_without_jobs_is_a_failure(server: Scripted, work: Work, destination: Make, answer: Answer) -> None:
    server.on("GET /openapi/trajectory-download-tasks/{task}", answer)
    with destination() as target:
        assert [failure.label for failure in task_archives.metadata(work, "T", target).failures] == ["T"]


def test_a_run_that_broke_off_goes_on_with_what_it_has(old: Documented, work: Work, destination: Make) -> None:
    old.trajectories["J3"] = Answer(sent=0, length=100)
    with destination() as target:
        report = task_archives.trajectories(work, "G1", target)
    assert isinstance(report.failures[0].error, NetworkError)
    del old.trajectories["J3"]
    old.server.seen.clear()
    with destination() as target:
        assert task_archives.trajectories(work, "G1", target).ok
        target.finish()
    assert [seen.path for seen in old.server.asked("/trajectory") if "tasks" not in seen.path] == ["/openapi/jobs/J3/trajectory"]
    assert _zip(target.root / "G1_trajectories.zip")[1]["successful_jobs"] == 3


def test_a_refused_key_ends_it_wherever_it_is_refused(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    server.on("GET /openapi/jobs/{job}/meta", error(401, "no"))
    with destination() as target, pytest.raises(AuthError):
        task_archives.trajectories(work, "G1", target)
    assert not list(target.root.glob("*.zip"))


def test_job_ids_cannot_lead_out_of_the_archive(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    server.on("GET /openapi/trajectory-download-tasks/{task}", of_json({"job_ids": ["..", "../J1", "J1"]}))
    with destination() as target:
        report = task_archives.trajectories(work, "T", target)
    names, _ = _zip(target.root / "T_trajectories.zip")
    assert names == ["trajectories/J1_trajectory.json", "metadata/J1.json", "manifest.json"]
    assert [failure.label for failure in report.failures] == ["..", "../J1"]


def test_media_names_are_safe_and_differ() -> None:
    uris = ["oss://b/a.png", "oss://c/A.PNG", "oss://d/..", "oss://e/x y", "oss://f/", "oss://g/a.tar.gz", "oss://h/a.tar.gz"]
    raw = json.dumps([_media(uri) for uri in uris]).encode()
    assert [name for name, _, _ in task_media.named(raw)] == [
        "a.png",
        "A-2.PNG",
        "media.png",
        "x%20y.png",
        "media-2.png",
        "a.tar.gz",
        "a-2.tar.gz",
    ]


def test_equal_entries_give_equal_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 700_000)
    entries: list[tuple[str, Path | bytes]] = [("d/名.json", b"{}"), ("big", tmp_path / "a")]
    first = b"".join(zip_chunks(entries))
    assert first == b"".join(zip_chunks(entries))
    (tmp_path / "z.zip").write_bytes(first)
    with zipfile.ZipFile(tmp_path / "z.zip") as archive:
        assert archive.testzip() is None
        assert archive.read("big") == b"x" * 700_000
