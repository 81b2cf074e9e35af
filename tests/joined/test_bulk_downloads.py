"""Bulk streams against the real application: the same files as job by job, and a broken download goes on where it stopped."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_client.actions import artifacts, pull, task_archives, trajectory
from benchloop_client.actions.artifact_lists import Choice, Source
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work
from benchloop_client.client import Client
from benchloop_client.contract import trajectory as trajectories
from benchloop_client.contract.resources import DownloadTaskCreate
from benchloop_client.settings import Flags, load
from benchloop_client.transfer.bundle import WHOLE_LIMIT
from tests.support.pushing import Sent, archive, document, push, sha
from tests.support.served import Served

JOBS = 6


@pytest.fixture
def filled(served: Served) -> Served:
    """A group of six jobs, one without a trajectory, one without an archive."""
    push(served, *(job(number) for number in range(JOBS)))
    return served


def job(number: int, group: str = "g1") -> Sent:
    """Job `g1-<number>`."""
    name = f"{group}-{number}"
    text = document(name, group, steps=1 + number, text=f"ünï \x01 \\u0041 {number}")
    files = archive({"a.txt": b"a" * number, "b/c.txt": name.encode()})
    return Sent(name, group, document=None if number == 2 else text, archive=None if number == 3 else files)


@pytest.fixture
def work(filled: Served) -> Iterator[Work]:
    """What actions are given."""
    settings = load(Flags(host=filled.url, api_key=filled.key(), timeout=20.0, retry=0), {"HOME": "/nonexistent"})
    with Client(settings) as client:
        yield Work(client)


@pytest.fixture(params=[True, False], ids=["pretty", "compact"])
def layout(request: pytest.FixtureRequest) -> Layout:
    """Both ways to write JSON."""
    return Layout(pretty=request.param)


def saved(work: Work, root: Path, layout: Layout, group: str = "g1") -> bytes:
    """The group's file in a folder."""
    with Destination(root, layout=layout, run="run") as target:
        assert trajectory.download_groups(work, [group], target).ok
        target.finish()
    return (root / group / "trajectory.json").read_bytes()


def test_a_groups_file_is_the_same_byte_for_byte(work: Work, tmp_path: Path, layout: Layout) -> None:
    as_lines = b"".join(trajectory.group_element(work, "g1", layout=layout)) + b"\n"
    assert saved(work, tmp_path, layout) == as_lines
    assert len(json.loads(as_lines)["trajectories"]) == JOBS


def test_an_empty_groups_file_is_the_same(work: Work, filled: Served, tmp_path: Path, layout: Layout) -> None:
    assert filled.request("PUT", "/openapi/groups/none", json={"name": "none"}).status == 200
    assert saved(work, tmp_path, layout, "none") == b"".join(trajectory.group_element(work, "none", layout=layout)) + b"\n"


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a folder but the hidden ones."""
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(".benchloop/")}


def artifacts_of(work: Work, root: Path, **choice: object) -> Report:
    """The artifacts of the group in a folder."""
    with Destination(root, layout=Layout(), run="run") as target:
        report = artifacts.download_group(work, "g1", target, choice=Choice(**choice))  # type: ignore[arg-type]
        target.finish()
    return report


def test_artifacts_are_the_same_as_job_by_job(work: Work, tmp_path: Path) -> None:
    assert artifacts_of(work, tmp_path / "bulk").done == JOBS - 1
    assert artifacts_of(work, tmp_path / "each", include="*").done == JOBS - 1
    assert tree(tmp_path / "bulk") == tree(tmp_path / "each")
    assert sorted(tree(tmp_path / "bulk")) == [f"g1/g1-{n}/g1-{n}.tgz" for n in range(JOBS) if n != 3]


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "between", "last"])
def test_a_large_archive_may_stand_anywhere_in_the_stream(work: Work, filled: Served, tmp_path: Path, place: int) -> None:
    noise = random.Random(place).randbytes(WHOLE_LIMIT + 1)
    contents = [noise if number == place else b"small" for number in range(3)]
    push(filled, *(Sent(f"g2-{number}", "g2", archive=archive({"a": content})) for number, content in enumerate(contents)))
    with Destination(tmp_path / "out", layout=Layout(), run="run") as target:
        report = artifacts.download_group(work, "g2", target, choice=Choice())
        target.finish()
    assert report.ok
    assert tree(tmp_path / "out") == {f"g2/g2-{n}/g2-{n}.tgz": archive({"a": content}) for n, content in enumerate(contents)}


def test_what_is_there_is_kept_and_the_rest_comes(work: Work, tmp_path: Path) -> None:
    artifacts_of(work, tmp_path)
    whole = tree(tmp_path)
    (tmp_path / "g1/g1-1/g1-1.tgz").unlink()
    (tmp_path / "g1/g1-4/g1-4.tgz").write_bytes(b"cut")
    before = work.client.moved_bytes()
    assert artifacts_of(work, tmp_path).done == JOBS - 1
    assert tree(tmp_path) == whole
    assert work.client.moved_bytes() - before < sum(map(len, whole.values())) + 4000


class OldClient(Client):
    """A client that does not know bulk streams."""

    def has(self, feature: str) -> bool:
        """Anything else."""
        return feature != "bulk" and super().has(feature)


@pytest.fixture
def old(filled: Served) -> Iterator[Work]:
    """What actions are given that fetch job by job."""
    settings = load(Flags(host=filled.url, api_key=filled.key(), timeout=20.0, retry=0), {"HOME": "/nonexistent"})
    with OldClient(settings) as client:
        yield Work(client)


def task_of(work: Work, group: str = "g1") -> str:
    """A download task of all jobs."""
    return str(work.client.download_task_create(DownloadTaskCreate(group_id=group))["task_id"])


def zipped(path: Path) -> list[tuple[str, bytes]]:
    """The entries of a ZIP in their order."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [(name, archive.read(name)) for name in archive.namelist()]


@pytest.mark.parametrize("what", ["trajectories", "metadata"])
def test_a_tasks_zip_has_the_same_entries(work: Work, old: Work, tmp_path: Path, layout: Layout, what: str) -> None:
    task = task_of(work)
    for name, one in (("bulk", work), ("each", old)):
        with Destination(tmp_path / name, layout=layout, run="run") as target:
            assert getattr(task_archives, what)(one, task, target).ok
    found = zipped(tmp_path / "bulk" / f"{task}_{what}.zip")
    assert found == zipped(tmp_path / "each" / f"{task}_{what}.zip")
    assert len(found) == JOBS * (2 if what == "trajectories" else 1) + 1
    assert [path.name for path in (tmp_path / "bulk").iterdir() if not path.name.startswith(".benchloop")] == [f"{task}_{what}.zip"]


@pytest.mark.parametrize("level", [0, 6])
def test_any_level_has_the_same_entries(work: Work, tmp_path: Path, level: int) -> None:
    task = task_of(work)
    sizes = []
    for name, of in (("other", level), ("usual", 1)):
        with Destination(tmp_path / name, layout=Layout(), run="run") as target:
            assert task_archives.trajectories(work, task, target, level=of).ok
        sizes.append((tmp_path / name / f"{task}_trajectories.zip").stat().st_size)
    assert zipped(tmp_path / "other" / f"{task}_trajectories.zip") == zipped(tmp_path / "usual" / f"{task}_trajectories.zip")
    assert sizes[0] > sizes[1] if level == 0 else sizes[0] < sizes[1]


def test_media_come_into_the_zip_in_order(work: Work, old: Work, filled: Served, tmp_path: Path) -> None:
    push(filled, *(with_media(number) for number in range(3)))
    task = task_of(work, "pics")
    for name, one in (("bulk", work), ("each", old)):
        with Destination(tmp_path / name, layout=Layout(), run="run") as target:
            assert task_archives.trajectories(one, task, target).ok
    found = zipped(tmp_path / "bulk" / f"{task}_trajectories.zip")
    assert found == zipped(tmp_path / "each" / f"{task}_trajectories.zip")
    assert [data for name, data in found if name.startswith("source/")] == [b"picture %d" % number for number in range(3)]


def with_media(number: int) -> Sent:
    """A job whose trajectory shows an image."""
    name, picture = f"pics-{number}", b"picture %d" % number
    raw = json.loads(document(name, "pics"))
    uri = f"blmedia/{name}/{sha(picture)}/x.png"
    raw["steps"][0]["extra"] = {"media": [{"path": "x.png", "trace_media": {"oss_uri": uri, "mime_type": "image/png"}}]}
    return Sent(name, "pics", document=trajectories.encode(raw), media={"x.png": ("image/png", picture)})


def test_metadata_of_a_group_is_the_same_as_job_by_job(work: Work, old: Work, tmp_path: Path, layout: Layout) -> None:
    for name, one in (("bulk", work), ("each", old)):
        with Destination(tmp_path / name, layout=layout, run="run") as target:
            report = pull.pull_groups(one, ["g1"], target, resources=("metadata", "trajectory", "artifacts"))
            assert report.ok, report
    found = tree(tmp_path / "bulk")
    assert found == tree(tmp_path / "each")
    assert len(found) == JOBS + 1 + JOBS - 1
    with Destination(tmp_path / "bulk", layout=layout, run="again") as target:
        before = work.client.moved_bytes()
        assert pull.pull_groups(work, ["g1"], target, resources=("metadata", "artifacts")).ok
    assert tree(tmp_path / "bulk") == found
    assert work.client.moved_bytes() - before < 20_000


@pytest.mark.parametrize("placeholder", [True, False])
def test_artifacts_of_a_task_are_the_same_as_job_by_job(work: Work, old: Work, tmp_path: Path, placeholder: bool) -> None:
    task = task_of(work)
    reports = []
    for name, one in (("bulk", work), ("each", old)):
        with Destination(tmp_path / name, layout=Layout(), run="run") as target:
            choice = Choice(placeholder=placeholder)
            reports.append(artifacts.download(one, Source(task=task), target, choice=choice))
    assert tree(tmp_path / "bulk") == tree(tmp_path / "each")
    for report in reports:
        found = report.done, [failure.label for failure in report.failures]
        assert found == ((JOBS, []) if placeholder else (JOBS - 1, ["g1-3"]))
    assert len(tree(tmp_path / "bulk")) == JOBS - (not placeholder)
