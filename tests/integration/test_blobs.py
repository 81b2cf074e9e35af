"""One suite over every blob store: a folder, memory, and S3 as moto speaks it."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import MemoryStore

from benchloop_server.adapters import blobs_object
from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.kit.blobs import BlobMissing, BlobStore
from benchloop_server.settings import load
from benchloop_server.wiring import BadSetting, open_blobs

DATA = bytes(range(256)) * 8192
NAME = hashlib.sha256(DATA).hexdigest()
OTHER = hashlib.sha256(b"").hexdigest()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """An S3 server on the loopback interface with the bucket `blobs`; its address."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="blobs")
    yield url
    server.stop()


@pytest.fixture(params=["folder", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """An empty blob store."""
    if request.param == "folder":
        return LocalBlobs(tmp_path / "blobs")
    if request.param == "memory":
        return ObjectBlobs(MemoryStore())
    prefix = request.node.name.translate({ord(sign): "-" for sign in "[]/"})
    aws = {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": request.getfixturevalue("s3"),
    }
    return open_blobs(load({**aws, "HOME": str(tmp_path)}, blobs=f"s3://blobs/{prefix}", data=tmp_path))


def test_bytes_come_back(store: BlobStore) -> None:
    assert store.put_bytes(NAME, DATA) is True
    assert b"".join(store.read(NAME)) == DATA
    assert (store.size(NAME), store.exists(NAME)) == (len(DATA), True)


def test_a_name_is_written_once(store: BlobStore, tmp_path: Path) -> None:
    store.put_bytes(NAME, DATA)
    assert store.put_bytes(NAME, b"other") is False
    (tmp_path / "other").write_bytes(b"other")
    assert store.put_file(NAME, tmp_path / "other") is False
    assert b"".join(store.read(NAME)) == DATA


def test_a_file_is_kept_and_stays_where_it_is(store: BlobStore, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(DATA)
    assert store.put_file(NAME, path) is True
    assert path.read_bytes() == DATA
    path.unlink()
    assert b"".join(store.read(NAME)) == DATA


def test_large_files_go_up_in_parts(store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs_object, "_MULTIPART_BYTES", 1024)
    path = tmp_path / "file"
    path.write_bytes(DATA)
    assert store.put_file(NAME, path) is True
    assert store.put_file(NAME, path) is False
    assert store.put_bytes(NAME, DATA) is False
    assert b"".join(store.read(NAME)) == DATA


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 1), (5, 70_000), (len(DATA) - 1, 1), (len(DATA), 0), (0, 0), (100, None), (0, len(DATA))]
)
def test_ranges(store: BlobStore, offset: int, length: int | None) -> None:
    store.put_bytes(NAME, DATA)
    expected = DATA[offset:] if length is None else DATA[offset : offset + length]
    assert b"".join(store.read(NAME, offset=offset, length=length)) == expected


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, len(DATA) + 1), (len(DATA) + 1, None), (3, -1)])
def test_ranges_outside_are_refused(store: BlobStore, offset: int, length: int | None) -> None:
    store.put_bytes(NAME, DATA)
    with pytest.raises(ValueError, match="do not lie inside"):
        store.read(NAME, offset=offset, length=length)


def test_nothing_is_a_blob_too(store: BlobStore) -> None:
    assert store.put_bytes(OTHER, b"") is True
    assert (b"".join(store.read(OTHER)), store.size(OTHER)) == (b"", 0)


def test_what_is_not_there_is_missing(store: BlobStore) -> None:
    for look in (lambda: store.read(NAME), lambda: store.size(NAME)):
        with pytest.raises(BlobMissing):
            look()
    assert store.exists(NAME) is False
    store.delete(NAME)


def test_deleted_is_gone_and_can_come_again(store: BlobStore) -> None:
    store.put_bytes(NAME, DATA)
    store.delete(NAME)
    assert store.exists(NAME) is False
    assert store.put_bytes(NAME, DATA) is True


def test_what_is_old_is_listed_with_its_length(store: BlobStore) -> None:
    store.put_bytes(NAME, DATA)
    store.put_bytes(OTHER, b"")
    assert {NAME: len(DATA), OTHER: 0}.items() <= dict(store.aged(time.time() + 60)).items()
    assert list(store.aged(time.time() - 3600)) == []
    store.delete(NAME)
    assert NAME not in dict(store.aged(time.time() + 60))


@pytest.mark.parametrize("name", ["", "..", "../" + "a" * 64, "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_only_digests_are_names(store: BlobStore, name: str) -> None:
    for use in (lambda: store.put_bytes(name, b""), lambda: store.read(name), lambda: store.exists(name), lambda: store.delete(name)):
        with pytest.raises(ValueError, match="not the name of a blob"):
            use()


def test_writers_of_one_name_at_once(store: BlobStore) -> None:
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(store.put_bytes(NAME, DATA))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(answers) == [False] * 5 + [True]
    assert b"".join(store.read(NAME)) == DATA


def test_the_folder_store_leaves_no_temporary_files(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path)
    store.put_bytes(NAME, DATA)
    store.put_bytes(NAME, DATA)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()] == [f"{NAME[:2]}/{NAME[2:4]}/{NAME}"]


def test_a_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalBlobs(tmp_path)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.put_bytes(NAME, DATA)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    assert store.put_bytes(NAME, DATA) is True


def test_unknown_schemes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="ftp://x"):
        open_blobs(load({"HOME": str(tmp_path)}, blobs="ftp://x"))
    assert isinstance(open_blobs(load({"HOME": str(tmp_path)}, blobs="memory:")), ObjectBlobs)
