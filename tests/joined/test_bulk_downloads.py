"""Bulk streams against the real application: the same files as job by job, and a broken download goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_client.actions import artifacts, trajectory
from benchloop_client.actions.artifact_lists import Choice
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.work import Work
from benchloop_client.client import Client
from benchloop_client.settings import Flags, load
from tests.support.pushing import Sent, archive, document, push
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


def artifacts_of(work: Work, root: Path, **choice: object) -> artifacts.Report:
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


def test_what_is_there_is_kept_and_the_rest_comes(work: Work, tmp_path: Path) -> None:
    artifacts_of(work, tmp_path)
    whole = tree(tmp_path)
    (tmp_path / "g1/g1-1/g1-1.tgz").unlink()
    (tmp_path / "g1/g1-4/g1-4.tgz").write_bytes(b"cut")
    before = work.client.moved_bytes()
    assert artifacts_of(work, tmp_path).done == JOBS - 1
    assert tree(tmp_path) == whole
    assert work.client.moved_bytes() - before < sum(map(len, whole.values())) + 4000
