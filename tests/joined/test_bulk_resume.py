"""Bulk downloads that break off go on where they stopped, and end in the same bytes; what changed meanwhile is never mixed."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.actions import artifacts, task_archives, trajectory
from benchloop_client.actions.artifact_lists import Choice
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work
from benchloop_client.client import Client, Stream
from benchloop_client.contract.resources import DownloadTaskCreate
from benchloop_client.errors import NetworkError
from benchloop_client.settings import Flags, load
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served

JOBS = 12
Action = Callable[[Work, Destination], Report]


class Cut:
    """A stream that breaks off after `left` bytes; with `flip` a byte there is another one instead."""

    def __init__(self, stream: Stream, left: int, *, flip: bool) -> None:
        self._stream, self._left, self._flip = stream, left, flip

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            at, self._left = self._left, self._left - len(chunk)
            if not 0 <= at < len(chunk):
                yield chunk
                continue
            yield chunk[:at]
            if not self._flip:
                raise NetworkError("cut")
            yield bytes([chunk[at] ^ 1]) + chunk[at + 1 :]


class Longer(Cut):
    """A stream that is announced as longer than it is, and breaks off at its true end."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream, 0, flip=False)

    @property
    def length(self) -> int:
        """What is announced."""
        return (self._stream.length or 0) + 1000

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream
        raise NetworkError("too short")


class Broken(Client):
    """A client whose next bulk stream breaks off at `cut`, and which knows from where each was asked for."""

    cut: int | None = None
    flip = longer = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.offsets: list[int] = []
        self.lengths: list[int] = []

    def group_bulk_stream(self, group_id: str, kind: str, *, offset: int | None = None, etag: str | None = None) -> Stream:
        """The stream, cut."""
        return self._cut(super().group_bulk_stream(group_id, kind, offset=offset, etag=etag))

    def task_bulk_stream(self, task_id: str, kind: str, *, offset: int | None = None, etag: str | None = None) -> Stream:
        """The stream, cut."""
        return self._cut(super().task_bulk_stream(task_id, kind, offset=offset, etag=etag))

    def _cut(self, stream: Stream) -> Stream:
        self.offsets.append(stream.offset)
        self.lengths.append(stream.wire_length or 0)
        cut, self.cut = self.cut, None
        if self.longer:
            return Longer(stream)  # type: ignore[return-value]
        return stream if cut is None else Cut(stream, cut, flip=self.flip)  # type: ignore[return-value]


@pytest.fixture
def filled(served: Served) -> Served:
    """A group of twelve jobs with about 100 kB each of what no compressor makes smaller."""
    push(served, *(job(number) for number in range(JOBS)))
    return served


def job(number: int, *, seed: int = 0) -> Sent:
    """Job `g1-<number>`."""
    dice = random.Random(number * 100 + seed)
    name, noise = f"g1-{number}", dice.randbytes(50_000)
    return Sent(name, document=document(name, "g1", text=noise.hex()), archive=archive({"a.bin": noise + noise}))


@pytest.fixture
def work(filled: Served) -> Iterator[Work]:
    """What actions are given."""
    with Broken(load(Flags(host=filled.url, api_key=filled.key(), timeout=20.0, retry=0), {"HOME": "/nonexistent"})) as client:
        yield Work(client)


def broken(work: Work) -> Broken:
    """The client of `work`."""
    assert isinstance(work.client, Broken)
    return work.client


def run(work: Work, root: Path, action: Action, *, layout: Layout | None = None) -> Report:
    """One run of the command."""
    with Destination(root, layout=layout or Layout(), run="run") as target:
        report = action(work, target)
        if not report.broken_off:
            target.finish()
    return report


def of_group(work: Work, target: Destination) -> Report:
    """The group's file."""
    return trajectory.download_groups(work, ["g1"], target)


def of_artifacts(work: Work, target: Destination) -> Report:
    """The group's artifacts."""
    return artifacts.download_group(work, "g1", target, choice=Choice())


def of_task(work: Work, target: Destination) -> Report:
    """A task's ZIP; each call is about the same task."""
    return task_archives.trajectories(work, _task(work), target)


def of_metadata(work: Work, target: Destination) -> Report:
    """A task's other ZIP."""
    return task_archives.metadata(work, _task(work), target)


_TASKS: dict[int, str] = {}


def _task(work: Work) -> str:
    if id(work) not in _TASKS:
        _TASKS[id(work)] = str(work.client.download_task_create(DownloadTaskCreate(group_id="g1"))["task_id"])
    return _TASKS[id(work)]


def tree(root: Path) -> dict[str, object]:
    """Every file that a person would see, ZIPs as their entries; hidden names too, but not what stands in `.benchloop`."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(".benchloop/"):
            found[name] = _entries(path) if name.endswith(".zip") else path.read_bytes()
    return found


def _entries(path: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as zipped:
        return [(name, zipped.read(name)) for name in zipped.namelist()]


def parts(root: Path) -> list[str]:
    """What is left of broken downloads."""
    return [path.name for path in root.rglob("*.part")]


ACTIONS = [of_group, of_artifacts, of_task, of_metadata]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("action", ACTIONS)
def test_row_4_a_broken_download_goes_on_where_it_stopped(work: Work, tmp_path: Path, action: Action, seed: int) -> None:
    client = broken(work)
    assert run(work, tmp_path / "clean", action).ok
    whole, dice = client.lengths[0], random.Random(seed)
    fetched = 0
    for _ in range(3):
        client.cut = dice.randrange(whole // 3)
        fetched += client.cut
        assert not run(work, tmp_path / "broken", action).ok
        assert not [name for name in tree(tmp_path / "broken") if name.endswith(("trajectory.json", ".zip"))]
    client.lengths.clear()
    assert run(work, tmp_path / "broken", action).ok
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")
    assert parts(tmp_path / "broken") == []
    # At each break the item that was under way is lost, and no more.
    item = whole // JOBS
    assert fetched + client.lengths[0] <= whole + 3 * item + 4096


@pytest.mark.parametrize(("action", "pretty", "name"), [(of_group, True, "g1-0"), (of_group, False, "g1-9"), (of_task, True, "g1-9")])
def test_a_break_inside_a_long_item_costs_next_to_nothing(served: Served, tmp_path: Path, action: Action, pretty: bool, name: str) -> None:
    """A trajectory of 6 MB on the wire, first or last of its group: each try goes on in the middle of it."""
    layout = Layout(pretty=pretty)
    long = Sent(name, document=document(name, "g1", text=random.Random(4).randbytes(6_000_000).hex()))
    push(served, *([long, job(1), job(2)] if name == "g1-0" else [job(1), job(2), long]))
    with Broken(load(Flags(host=served.url, api_key=served.key(), timeout=20.0, retry=0), {"HOME": "/nonexistent"})) as client:
        work = Work(client)
        assert run(work, tmp_path / "clean", action, layout=layout).ok
        whole, fetched = client.lengths[0], 0
        client.offsets.clear()
        for cut in (2_000_000, 1_500_000, 1_500_000):
            client.cut = cut
            fetched += cut
            assert not run(work, tmp_path / "broken", action, layout=layout).ok
        client.lengths.clear()
        assert run(work, tmp_path / "broken", action, layout=layout).ok
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")
    assert parts(tmp_path / "broken") == []
    assert client.offsets[:4] == [0, 2_000_000, 3_500_000, 5_000_000]
    assert fetched + client.lengths[0] == whole


@pytest.mark.parametrize("action", [of_group, of_task, of_metadata])
def test_a_stream_that_was_announced_too_long_is_taken_for_whole_later(work: Work, tmp_path: Path, action: Action) -> None:
    client = broken(work)
    client.longer = True
    assert not run(work, tmp_path / "broken", action).ok
    client.longer = False
    assert run(work, tmp_path / "broken", action).ok
    assert run(work, tmp_path / "clean", action).ok
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")
    assert parts(tmp_path / "broken") == []


def test_a_tail_of_another_version_is_not_used(served: Served, tmp_path: Path) -> None:
    noise = [random.Random(seed).randbytes(5_000_000).hex() for seed in (4, 5)]
    push(served, Sent("g1-a", document=document("g1-a", "g1", text=noise[0])))
    with Broken(load(Flags(host=served.url, api_key=served.key(), timeout=20.0, retry=0), {"HOME": "/nonexistent"})) as client:
        work = Work(client)
        client.cut = 3_000_000
        assert not run(work, tmp_path / "broken", of_group).ok
        assert len(parts(tmp_path / "broken")) >= 1
        push(served, Sent("g1-a", document=document("g1-a", "g1", text=noise[1])))
        assert run(work, tmp_path / "broken", of_group).ok
        assert run(work, tmp_path / "clean", of_group).ok
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")
    assert parts(tmp_path / "broken") == []


@pytest.mark.parametrize("action", [of_group, of_artifacts])
def test_row_1_what_changed_meanwhile_is_never_mixed(work: Work, filled: Served, tmp_path: Path, action: Action) -> None:
    client = broken(work)
    run(work, tmp_path / "before", action)
    client.cut = client.lengths[0] // 2
    assert not run(work, tmp_path / "broken", action).ok
    push(filled, *(job(number, seed=7) for number in range(JOBS)))
    assert run(work, tmp_path / "broken", action).ok
    assert run(work, tmp_path / "clean", action).ok
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean") != tree(tmp_path / "before")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("action", ACTIONS)
def test_a_flipped_byte_is_found_and_the_next_run_is_right(work: Work, tmp_path: Path, action: Action, seed: int) -> None:
    client = broken(work)
    assert run(work, tmp_path / "clean", action).ok
    client.cut, client.flip = random.Random(seed).randrange(client.lengths[0]), True
    assert not run(work, tmp_path / "broken", action).ok
    client.flip = False
    right = tree(tmp_path / "clean")
    assert {name: data for name, data in tree(tmp_path / "broken").items() if right.get(name) != data} == {}
    assert run(work, tmp_path / "broken", action).ok
    assert tree(tmp_path / "broken") == right


@pytest.mark.parametrize("action", [of_group, of_task])
def test_a_flipped_byte_costs_only_what_comes_behind_it(work: Work, tmp_path: Path, action: Action) -> None:
    client = broken(work)
    assert run(work, tmp_path / "clean", action).ok
    client.cut, client.flip = client.lengths[0] - 1000, True
    assert not run(work, tmp_path / "broken", action).ok
    tries = len(client.offsets)
    assert run(work, tmp_path / "broken", action).ok
    assert client.offsets[tries] > client.lengths[0] // 2
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")


def test_a_part_of_another_layout_is_not_taken(work: Work, tmp_path: Path) -> None:
    client = broken(work)
    run(work, tmp_path / "clean", of_group, layout=Layout(pretty=False))
    client.cut = client.lengths[0] // 2
    assert not run(work, tmp_path / "broken", of_group).ok
    assert run(work, tmp_path / "broken", of_group, layout=Layout(pretty=False)).ok
    assert client.offsets[-1] == 0
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")


def test_row_9_everything_had_arrived_and_only_the_name_was_missing(work: Work, tmp_path: Path) -> None:
    assert run(work, tmp_path / "clean", of_task).ok
    # The trajectories are whole, the metadata breaks off.
    metadata_at = 2

    class Second(Broken):
        """Cuts the second stream."""

        def _cut(self, stream: Stream) -> Stream:
            if len(self.offsets) == metadata_at - 1:
                self.cut = 10
            return super()._cut(stream)

    second = Second(work.client.settings)
    with second:
        other = Work(second)
        _TASKS[id(other)] = _task(work)
        assert not run(other, tmp_path / "broken", of_task).ok
        assert run(other, tmp_path / "broken", of_task).ok
        # Of the trajectories nothing came again.
        assert second.lengths[2] == 0
    assert tree(tmp_path / "broken") == tree(tmp_path / "clean")
