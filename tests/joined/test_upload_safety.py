"""What must hold whatever happens: bytes before rows, nothing half visible after a kill, and memory that does not grow with the upload."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import signal
import subprocess
import sys
import tarfile
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from benchloop_server import settings, wiring
from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.features.accounts import service as accounts
from benchloop_server.features.artifacts import service as artifacts
from benchloop_server.features.uploads.receiving import Claim
from benchloop_server.features.uploads.service import BundleIntake, Intake, SingleIntake
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql.places import index_of, place_of
from benchloop_server.sql.tables import uploads
from tests.support.pushing import END, Sent, archive, document, sha

JOB = Sent("j1", document=document("j1", "g1"), archive=archive({"a": b"1"}), media={"p.png": ("image/png", b"png")})


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Services on an empty data folder."""
    opened = wiring.open_services(settings.load({}, data=tmp_path / "data"))
    yield opened
    opened.db.close()


@pytest.fixture
def principal(services: Services) -> Principal:
    """Who uploads."""
    key, _ = accounts.create_key(services.db, "test")
    found = services.identify(key)
    assert found is not None
    return found


def count(services: Services) -> int:
    """Rows of uploads."""
    with services.db.read() as connection:
        return int(connection.execute(select(func.count()).select_from(uploads)).scalar_one())


class Watching(LocalBlobs):
    """A store that notes how many rows there are when bytes arrive, and can be full."""

    def __init__(self, root: Path, services: Services, *, full: bool = False) -> None:
        super().__init__(root)
        self.services, self.full = services, full
        self.rows_at_put: list[int] = []

    def put_bytes(self, sha256: str, data: bytes) -> bool:
        self.rows_at_put.append(count(self.services))
        if self.full:
            raise OSError(errno.ENOSPC, "no space left")
        return super().put_bytes(sha256, data)


def test_bytes_are_stored_before_any_row(services: Services, principal: Principal, tmp_path: Path) -> None:
    watching = Watching(tmp_path / "blobs", services)
    intake = Intake(dataclasses.replace(services, blobs=watching), principal)
    bundle = BundleIntake(intake, max_items=10)
    bundle.feed(b"".join(JOB.items()))
    assert len(bundle.finish()) == 3
    assert watching.rows_at_put == [0]
    assert count(services) == 3


def test_a_full_disk_leaves_no_row_and_no_file(services: Services, principal: Principal, tmp_path: Path) -> None:
    intake = Intake(dataclasses.replace(services, blobs=Watching(tmp_path / "blobs", services, full=True)), principal)
    bundle = BundleIntake(intake, max_items=10)
    bundle.feed(b"".join(JOB.items()))
    with pytest.raises(OSError, match="no space"):
        bundle.finish()
    intake.close()
    assert count(services) == 0
    assert not list(services.scratch.iterdir())


KILLED = """
import os, signal, sys
from pathlib import Path
from benchloop_server import settings, wiring
from benchloop_server.features.accounts import service as accounts
from benchloop_server.features.uploads.service import BundleIntake, Intake
import benchloop_server.adapters.blobs_local as local

data, moment = Path(sys.argv[1]), sys.argv[2]
services = wiring.open_services(settings.load({}, data=data))
key, _ = accounts.create_key(services.db, "test")
principal = services.identify(key)

class Killing(local.LocalBlobs):
    def put_file(self, *args):
        if moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        kept = super().put_file(*args)
        os.kill(os.getpid(), signal.SIGKILL)
        return kept

import dataclasses
services = dataclasses.replace(services, blobs=Killing(data / "blobs"))
bundle = BundleIntake(Intake(services, principal), max_items=100)
bundle.feed(sys.stdin.buffer.read())
bundle.finish()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_round_the_store_leaves_nothing_visible_and_the_next_push_works(tmp_path: Path, moment: str) -> None:
    large = Sent("j1", document=JOB.document, media={"noise": ("image/png", os.urandom(3 << 20))})
    body = b"".join(large.items())
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment], input=body, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    services = wiring.open_services(settings.load({}, data=tmp_path))
    assert count(services) == 0
    assert not list(services.scratch.iterdir())
    key, _ = accounts.create_key(services.db, "again")
    principal = services.identify(key)
    assert principal is not None
    bundle = BundleIntake(Intake(services, principal), max_items=100)
    bundle.feed(body)
    assert [result.created for result in bundle.finish()] == [True, True]


def large_archive(path: Path, size: int) -> None:
    """An archive at `path` with one file of `size` bytes that do not compress."""
    squeeze = zlib.compressobj(0, wbits=31)
    info = tarfile.TarInfo("noise")
    info.size = size
    with path.open("wb") as file:
        file.write(squeeze.compress(info.tobuf(tarfile.PAX_FORMAT)))
        for _ in range(size >> 20):
            file.write(squeeze.compress(os.urandom(1 << 20)))
        file.write(squeeze.flush() + END)


def chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces as they come from a socket."""
    with path.open("rb") as file:
        while piece := file.read(1 << 18):
            yield piece


def digest(path: Path) -> str:
    """SHA-256 of the file."""
    hasher = hashlib.sha256()
    for piece in chunks(path):
        hasher.update(piece)
    found: str = hasher.hexdigest()
    return found


def test_a_large_archive_takes_little_memory_both_ways(services: Services, principal: Principal, tmp_path: Path) -> None:
    path = tmp_path / "large.tgz"
    large_archive(path, 100 << 20)
    name, size = digest(path), path.stat().st_size
    tracemalloc.start()
    try:
        claim = Claim(kind="archive", sha256=name, size=size, encoding=None, label="archive")
        intake = SingleIntake(Intake(services, principal), claim)
        for piece in chunks(path):
            intake.feed(piece)
        assert intake.finish()[0].created
        with services.db.read() as connection:
            row = connection.execute(select(uploads)).one()
        found = artifacts.Archive(place_of(row), index_of(row), "large.tgz")
        assert sum(len(piece) for piece in artifacts.archive_bytes(services, found, start=0, stop=size)) == size
        wanted = artifacts.member(services, found, "noise")
        assert sum(len(piece) for piece in artifacts.member_bytes(services, found, wanted)) == 100 << 20
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20, f"{peak} bytes"
    assert row.sha256 == name == row.stored_sha256 == sha(path.read_bytes())
