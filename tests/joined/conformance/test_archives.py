"""Wire contract §15: the ZIP files of download tasks and their manifests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from tests.joined.conformance.conftest import World
from tests.joined.conformance.protocol import PNG
from tests.support.programs import files_below
from tests.support.scripted import error, of_json


def _zip(world: World, out: Path, kind: str, task: str, *, code: int = 0) -> dict[str, bytes]:
    """The entries of a task's ZIP, in their order."""
    done = world.bl("--retry", "0", kind, "download", "--task-id", task, "-o", str(out))
    assert done.code == code, str(done)
    suffix = "trajectories" if kind == "trajectory" else "metadata"
    with ZipFile(out / f"{task}_{suffix}.zip") as archive:
        assert {info.compress_type for info in archive.infolist()} == {ZIP_DEFLATED}
        return {name: archive.read(name) for name in archive.namelist()}


def _manifest(entries: dict[str, bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(entries["manifest.json"])
    return found


def test_entries_in_their_order(world: World, out: Path) -> None:
    first, second = world.held.plain_jobs
    entries = _zip(world, out, "trajectory", world.held.media_task)
    assert list(entries) == [
        f"trajectories/{first}_trajectory.json",
        f"trajectories/{second}_trajectory.json",
        f"source/{first}/a.png",
        f"metadata/{first}.json",
        f"metadata/{second}.json",
        "manifest.json",
    ]
    assert json.loads(entries[f"trajectories/{first}_trajectory.json"]) == world.raw(f"/openapi/jobs/{first}/trajectory")
    assert json.loads(entries[f"metadata/{second}.json"]) == world.raw(f"/openapi/jobs/{second}/meta")
    assert entries[f"source/{first}/a.png"] == PNG


def test_metadata_entries(world: World, out: Path) -> None:
    jobs = world.held.task_jobs
    entries = _zip(world, out, "metadata", world.held.task)
    assert list(entries) == [*(f"metadata/{job}.json" for job in jobs), "manifest.json"]
    assert json.loads(entries[f"metadata/{jobs[0]}.json"]) == world.raw(f"/openapi/jobs/{jobs[0]}/meta")


def _keys(world: World, task: str, jobs: tuple[str, ...]) -> dict[str, Any]:
    raw = world.raw(f"/openapi/trajectory-download-tasks/{task}")
    return {
        "task_id": task,
        "group_id": raw.get("group_id"),
        "created_at": raw.get("created_at"),
        "total_jobs": len(jobs),
        "successful_jobs": len(jobs),
        "failed_jobs": 0,
        "success_job_ids": list(jobs),
        "failures": [],
    }


def test_manifest_of_trajectories(world: World, out: Path) -> None:
    task, jobs = world.held.task, world.held.task_jobs
    found = _manifest(_zip(world, out, "trajectory", task))
    assert found == {**_keys(world, task, jobs), "metadata_failures": [], "source_failures": []}


def test_manifest_of_metadata(world: World, out: Path) -> None:
    task, jobs = world.held.task, world.held.task_jobs
    assert _manifest(_zip(world, out, "metadata", task)) == _keys(world, task, jobs)


def test_manifests_are_laid_out_as_asked(each: World, out: Path) -> None:
    text = _zip(each, out, "metadata", each.held.task)["manifest.json"].decode()
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


def test_jobs_are_taken_once_and_trimmed(old: World, out: Path) -> None:
    old.on("GET /openapi/trajectory-download-tasks/{task}", of_json({"job_ids": [" J2", "J1", "", "J2 "]}))
    assert _manifest(_zip(old, out, "metadata", "T1"))["success_job_ids"] == ["J2", "J1"]


def test_encoded_names(old: World, out: Path) -> None:
    old.on("GET /openapi/trajectory-download-tasks/{task}", of_json({"job_ids": ["a/b ü"]}))
    old.on("GET /openapi/jobs/{job}/meta", of_json({}))
    old.on("GET /openapi/jobs/{job}/trajectory", of_json({"steps": []}))
    entries = list(_zip(old, out, "trajectory", "T1"))
    assert entries[:2] == ["trajectories/a%2Fb%20%C3%BC_trajectory.json", "metadata/a%2Fb%20%C3%BC.json"]


def test_some_jobs_fail(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/trajectory", error(404, "gone"))
    entries = _zip(old, out, "trajectory", "T1", code=1)
    found = _manifest(entries)
    assert (found["total_jobs"], found["successful_jobs"], found["failed_jobs"]) == (3, 2, 1)
    assert found["success_job_ids"] == ["J1", "J3"]
    assert [failure.keys() for failure in found["failures"]] == [{"job_id", "error"}]
    assert found["failures"][0]["job_id"] == "J2"
    assert not any("J2" in name for name in entries)


def test_success_counts_trajectories_only(old: World, out: Path) -> None:
    old.on("GET /openapi/jobs/J2/meta", error(404, "no meta"))
    found = _manifest(_zip(old, out, "trajectory", "T1", code=1))
    assert (found["successful_jobs"], found["failures"]) == (3, [])
    assert [failure["job_id"] for failure in found["metadata_failures"]] == ["J2"]
    assert "no meta" in found["metadata_failures"][0]["error"]


def test_failures_of_media_are_joined(old: World, out: Path) -> None:
    document = {"steps": [{"trace_media": {"oss_uri": f"oss://b/{name}"}} for name in ("a", "b", "a")]}
    old.on("GET /openapi/jobs/Q1/trajectory", of_json(document))
    old.on("GET /openapi/getTrajV2/mediaFile", lambda seen: error(403, f"not {seen.query['ossUri']}"))
    found = _manifest(_zip(old, out, "trajectory", "T2", code=1))
    (failure,) = found["source_failures"]
    assert failure["job_id"] == "Q1"
    assert re.search(r"not oss://b/a.*; .*not oss://b/b", failure["error"])
    assert len(old.asked("mediaFile")) == 2


def test_names_of_media(old: World, out: Path) -> None:
    uris = ["oss://b/x.png", "oss://c/x.png", "oss://b/ü x", "oss://b/..", "oss://b/pic"]
    steps = [{"deep": [{"trace_media": {"oss_uri": uri, "mime_type": "image/png"}}]} for uri in uris]
    old.on("GET /openapi/jobs/Q1/trajectory", of_json({"steps": steps}))
    names = [name for name in _zip(old, out, "trajectory", "T2") if name.startswith("source/")]
    wanted = ["x.png", "x-2.png", "%C3%BC%20x.png", "media.png", "pic.png"]
    assert sorted(names) == sorted(f"source/Q1/{name}" for name in wanted)


def test_no_success_no_zip(old: World, out: Path) -> None:
    old.refuse("GET /openapi/jobs/{job}/trajectory", "GET /openapi/jobs/{job}/meta", status=404)
    for kind in ("trajectory", "metadata"):
        assert old.bl(kind, "download", "--task-id", "T1", "-o", str(out)).code == 1
    assert files_below(out) == {}


def test_zip_is_built_beside_and_renamed(old: World, out: Path) -> None:
    first = _zip(old, out, "metadata", "T1")
    old.refuse("GET /openapi/jobs/{job}/meta", status=404)
    assert old.bl("metadata", "download", "--task-id", "T1", "-o", str(out)).code == 1
    with ZipFile(out / "T1_metadata.zip") as archive:
        assert archive.namelist() == list(first)
    assert [path.name for path in out.iterdir() if path.name not in {"T1_metadata.zip", ".benchloop"}] == []


def test_snapshots_that_are_refused(old: World, out: Path) -> None:
    for answer in ([], {"job_ids": []}, {"job_ids": [" "]}, {"job_ids": [1]}, {"job_ids": "J1"}, {}):
        old.on("GET /openapi/trajectory-download-tasks/{task}", of_json(answer))
        assert old.bl("metadata", "download", "--task-id", "T1", "-o", str(out)).code == 1
    assert files_below(out) == {}
