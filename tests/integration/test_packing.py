"""Packing, over each database: every byte stays readable, digests stay, blobs become few, and a crash anywhere costs nothing."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from benchloop_server.features.packing import repository
from benchloop_server.features.packing import service as packing
from benchloop_server.features.packing.tasks import HANDLER
from benchloop_server.features.reclaim import service as reclaim
from benchloop_server.kit.pieces import stream
from benchloop_server.kit.services import Services
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.verified import DamagedBlob, Place, read_whole
from benchloop_server.sql import work
from benchloop_server.sql.places import INDEX, PLACE
from benchloop_server.sql.tables import retired_blobs, uploads
from tests.support import stores
from tests.support.worked import MICROS, Shop

KIB = 1024
UPKEEP = Upkeep(quiet_seconds=600, settled_seconds=60, pack_bytes=64 * KIB)
HOUR = 3600


class Group:
    """A group whose uploads each have a blob of their own, as single uploads leave them."""

    def __init__(self, services: Services, jobs: int, *, size: int = 4 * KIB) -> None:
        self.shop = Shop(dataclasses.replace(services, upkeep=UPKEEP))
        self.shop.handlers = {packing.KIND: HANDLER}
        self.services = self.shop.services
        self.plain: dict[tuple[str, str], tuple[bytes, bytes]] = {}
        stores.make_group(self.services)
        self.add(range(jobs), size=size)

    def add(self, numbers: range, *, size: int = 4 * KIB) -> None:
        """Store and push jobs of these numbers."""
        sent = []
        for number in numbers:
            names = {kind: self._upload(kind, number, size) for kind in ("trajectory", "archive")}
            with self.services.db.write() as connection:
                row = uploads.c.sha256 == names["trajectory"]
                connection.execute(update(uploads).where(row).values(info_json=_info(f"j{number:03}")))
            sent.append(stores.job(f"j{number:03}", **{kind: {"sha256": name, "size": size} for kind, name in names.items()}))
        stores.put(self.services, *sent)

    def _upload(self, kind: str, number: int, size: int) -> str:
        stored = hashlib.sha256(f"{kind}{number}".encode()).digest() * (size // 32)
        index = b"index of " + stored[:32]
        for data in (stored, index):
            self.services.blobs.put_bytes(_sha(data), data)
        name = _sha(b"plain" + stored)
        self.plain[kind, name] = (stored, index)
        row = {"workspace_id": "default", "kind": kind, "sha256": name, "size": size, "info_json": '{"members": 1, "plain_bytes": 1}'}
        places = {"blob": _sha(stored), "blob_offset": 0, "stored_size": len(stored), "stored_sha256": _sha(stored)}
        at = {"index_blob": _sha(index), "index_offset": 0, "index_size": len(index), "index_sha256": _sha(index)}
        with self.services.db.write() as connection:
            connection.execute(insert(uploads).values(**row, **places, **at, created_at=0))
        return name

    def pack(self, worker: str = "w1") -> bool:
        """Do what is due once the group is quiet."""
        self.shop.clock.pass_seconds(UPKEEP.quiet_seconds)
        return self.shop.engine(worker).work_once()

    def places(self) -> dict[tuple[str, str], tuple[Place, Place]]:
        """Where every upload is now."""
        columns: list[Any] = [uploads.c.kind, uploads.c.sha256, *PLACE, *INDEX]
        with self.services.db.read() as connection:
            rows = connection.execute(select(*columns)).all()
        return {(row[0], row[1]): (Place(*row[2:6]), Place(*row[6:10])) for row in rows}

    def blobs(self) -> set[str]:
        """The blobs in which anything lies."""
        return {place.blob for pair in self.places().values() for place in pair}

    def check(self) -> None:
        """Everything reads as it was stored, under the digests it was stored with."""
        for name, pair in self.places().items():
            for place, expected in zip(pair, self.plain[name], strict=True):
                assert b"".join(read_whole(self.services.blobs, place)) == expected
                assert place.sha256 == _sha(expected)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _info(job_id: str) -> str:
    steps = '"n_steps": 1, "n_agent_steps": 1, "n_tool_calls": 0, "document_bytes": 1'
    return f'{{"trajectory_id": "{job_id}", "group_id": "g1", "task_id": "task", {steps}}}'


def test_a_quiet_group_is_packed_and_reads_the_same(services: Services) -> None:
    group = Group(services, 40)
    assert len(group.blobs()) == 160
    assert group.pack()
    group.check()
    # 40 × 4 KiB a kind in packs of 64 KiB make 3, and the indexes one each.
    assert len(group.blobs()) == 8


def test_pieces_lie_in_the_order_of_the_jobs(services: Services) -> None:
    group = Group(services, 40)
    group.pack()
    with group.services.db.read() as connection:
        query = select(uploads.c.blob, uploads.c.blob_offset).where(uploads.c.kind == "trajectory").order_by(uploads.c.created_at)
        assert len({row.blob for row in connection.execute(query)}) == 3
    offsets: dict[str, list[int]] = {}
    for (kind, name), (place, _) in group.places().items():
        if kind == "trajectory":
            offsets.setdefault(place.blob, []).append(place.offset)
            assert name in {key[1] for key in group.plain}
    assert sorted(len(each) for each in offsets.values()) == [8, 16, 16]
    assert all(sorted(each) == [number * 4 * KIB for number in range(len(each))] for each in offsets.values())


def test_a_whole_group_is_few_reads(services: Services) -> None:
    group = Group(services, 40)
    assert _reads(group) == 40
    group.pack()
    assert _reads(group) == 3


def _reads(group: Group) -> int:
    """How often the blob store is asked for all trajectories in the order of the jobs."""
    counted = Frail(group.services.blobs, 10_000)
    shelf = repository.Shelf("trajectory", index=False)
    with group.services.db.read() as connection:
        pieces, _ = repository.pieces(connection, "default", "g1", shelf=shelf, after=None)
    assert b"".join(stream((piece.place for piece in pieces), counted)) == b"".join(
        group.plain["trajectory", piece.sha256][0] for piece in pieces
    )
    return 10_000 - counted.fuse


def test_many_small_pieces_are_moved_a_few_at_a_time(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_ROWS", 7)
    monkeypatch.setattr(packing, "_PIECES", 20)
    group = Group(services, 40)
    group.pack()
    group.check()
    before = group.places()
    assert len(group.blobs()) == 10
    group.shop.wish("pack", "g1")
    assert group.pack()
    assert group.places() == before


def test_packing_again_finds_nothing_to_do(services: Services) -> None:
    group = Group(services, 40)
    group.pack()
    before = group.places()
    with group.services.db.write() as connection:
        work.enqueue(connection, work.Wish(workspace_id="default", kind="pack", key="g1"), now=group.shop.clock())
    assert group.pack()
    assert group.places() == before


def test_a_push_after_packing_leaves_full_packs_alone(services: Services) -> None:
    group = Group(services, 32)
    group.pack()
    before = {place[0].blob for place in group.places().values()}
    group.add(range(32, 40))
    group.pack()
    group.check()
    assert before < {place[0].blob for place in group.places().values()}


def test_a_growing_group_is_left_alone_until_it_is_quiet(services: Services) -> None:
    group = Group(services, 3)
    group.shop.clock.pass_seconds(UPKEEP.quiet_seconds - 1)
    assert not group.shop.engine().work_once()
    group.add(range(3, 4))
    group.shop.clock.pass_seconds(UPKEEP.quiet_seconds - 1)
    assert not group.shop.engine().work_once()
    group.shop.clock.pass_seconds(2)
    assert group.shop.engine().work_once()


def test_a_complete_group_waits_less(services: Services) -> None:
    group = Group(services, 3)
    stores.make_group(group.services, expected=4)
    group.add(range(3, 4))
    group.shop.clock.pass_seconds(UPKEEP.settled_seconds + 1)
    assert group.shop.engine().work_once()


def test_large_pieces_keep_their_blobs(services: Services) -> None:
    group = Group(services, 2, size=32 * KIB)
    group.add(range(2, 12))
    before = {(key, pair[0]) for key, pair in group.places().items() if pair[0].length == 32 * KIB}
    group.pack()
    assert before <= {(key, pair[0]) for key, pair in group.places().items()}
    group.check()


def test_a_damaged_piece_stays_where_it_is_and_stops_nothing(services: Services) -> None:
    group = Group(services, 20)
    damaged, (place, _) = next(item for item in group.places().items() if item[0][0] == "trajectory")
    group.services.blobs.delete(place.blob)
    group.services.blobs.put_bytes(place.blob, b"x" * place.length)
    group.pack()
    moved = group.places()
    assert moved[damaged][0] == place
    with pytest.raises(DamagedBlob):
        b"".join(read_whole(group.services.blobs, place))
    del group.plain[damaged]
    others = {key: pair for key, pair in moved.items() if key != damaged}
    assert all(b"".join(read_whole(group.services.blobs, pair[0])) == group.plain[key][0] for key, pair in others.items())


def test_a_reader_in_the_middle_is_not_disturbed_and_gc_waits(services: Services) -> None:
    group = Group(services, 40)
    old = {name: pair[0] for name, pair in group.places().items()}
    readers: list[tuple[bytes, Iterator[bytes]]] = [(group.plain[name][0], read_whole(group.services.blobs, old[name])) for name in old]
    group.pack()
    assert reclaim.collect(group.services, grace_hours=1).blobs == 0
    assert all(b"".join(reader) == expected for expected, reader in readers)
    group.shop.clock.pass_seconds(2 * HOUR)
    assert reclaim.collect(group.services, grace_hours=1).blobs == 160
    group.check()
    with group.services.db.read() as connection:
        assert connection.execute(select(retired_blobs)).all() == []


class Dies(BaseException):
    """The worker ends without a word, as by SIGKILL."""


@dataclasses.dataclass
class Frail:
    """A blob store that lets its user die at the `fuse`-th call."""

    inner: Any
    fuse: int

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*args: Any, **options: Any) -> Any:
            self.fuse -= 1
            if self.fuse == 0:
                raise Dies
            answer = method(*args, **options)
            if self.fuse == 1:
                self.fuse = 0
                raise Dies
            return answer

        return call


@pytest.mark.parametrize("fuse", [1, 2, 17, 33, 34, 35, 36, 60, 100])
def test_a_crash_anywhere_leaves_every_job_readable_and_the_next_worker_finishes(services: Services, fuse: int) -> None:
    group = Group(services, 24)
    frail = Frail(group.services.blobs, fuse)
    sound = group.services
    group.shop.services = dataclasses.replace(sound, blobs=frail)
    with pytest.raises(Dies):
        group.pack("w1")
    group.shop.services = sound
    group.check()
    group.shop.clock.pass_seconds(60)
    assert group.shop.engine("w2").work_once()
    group.check()
    assert len(group.blobs()) == 6
    assert group.shop.standing("pack", "g1").state == "done"


def test_the_work_of_a_group_that_is_gone_ends(services: Services) -> None:
    shop = Shop(services)
    shop.handlers = {packing.KIND: HANDLER}
    shop.wish("pack", "gone")
    assert shop.engine().work_once()
    assert shop.standing("pack", "gone").state == "done"
    assert shop.clock() > MICROS
