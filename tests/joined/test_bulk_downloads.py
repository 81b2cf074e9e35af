"""Bulk streams against the real application: the same files as job by job, and a broken download goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchloop_client.actions import trajectory
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
