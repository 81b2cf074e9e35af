"""Signed addresses: large files come straight from the object store, without the key, and are the same bytes under the same version."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import urllib3
from moto.server import ThreadedMotoServer

from benchloop_client.client import Client, Span
from benchloop_client.settings import Flags
from benchloop_client.settings import load as client_settings
from tests.support.pushing import Sent, archive, push, sha
from tests.support.served import Served, serving

ASK = {"Prefer": "benchloop-links"}
PATH = "/openapi/jobs/j1/artifacts/download"
#: Above a mebibyte it has a blob of its own.
FILE = archive({"big.bin": random.Random(4).randbytes(1_200_000)})
SMALL = archive({"small.txt": b"small"})
ETAG = f'"{sha(FILE)}"'


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """An S3 server with the bucket `blobs`, as the environment of our server names it."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket="blobs")
    yield {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url}
    server.stop()


def _serving(store: dict[str, str], folder: Path, **more: str) -> Iterator[Served]:
    environ = {**store, "BENCHLOOP_SERVER_LINK_MIB": "1", **more}
    with serving(folder / "data", environ=environ, blobs=f"s3://blobs/{folder.name}") as served:
        push(served, Sent("j1", archive=FILE), Sent("j2", archive=SMALL), Sent("j3", media={"a.png": ("image/png", FILE)}))
        yield served


@pytest.fixture
def linked(store: dict[str, str], tmp_path: Path) -> Iterator[Served]:
    """A server over the store that gives signed addresses for blobs of a mebibyte and more; those of `j1` and `j3` are so large."""
    yield from _serving(store, tmp_path, BENCHLOOP_SERVER_SIGNED_LINKS="true")


@pytest.fixture
def unlinked(store: dict[str, str], tmp_path: Path) -> Iterator[Served]:
    """The same by default."""
    yield from _serving(store, tmp_path)


def _ask(served: Served, path: str = PATH, **headers: str) -> urllib3.BaseHTTPResponse:
    return served.get(path, headers={**ASK, **{name.replace("_", "-"): value for name, value in headers.items()}}, redirect=False)


def _client(served: Served, home: Path) -> Client:
    return Client(client_settings(Flags(api_key=served.key(), host=served.url), {"HOME": str(home)}))


def test_who_asks_is_sent_to_the_store(linked: Served, store: dict[str, str]) -> None:
    answer = _ask(linked)
    assert (answer.status, answer.headers["etag"], answer.headers["accept-ranges"]) == (307, ETAG, "bytes")
    assert "no-store" in answer.headers["cache-control"]
    target = answer.headers["location"]
    assert target.startswith(store["AWS_ENDPOINT_URL"])
    assert linked.key() not in target
    assert "X-Amz-Expires=900" in target
    assert urllib3.request("GET", target).data == FILE
    part = urllib3.request("GET", target, headers={"Range": "bytes=1000-1999"})
    assert (part.status, part.data) == (206, FILE[1000:2000])


def test_media_is_linked_too(linked: Served) -> None:
    answer = _ask(linked, f"/openapi/getTrajV2/mediaFile?ossUri=blmedia/j3/{sha(FILE)}/a.png")
    assert answer.status == 307
    assert urllib3.request("GET", answer.headers["location"]).data == FILE


def test_who_does_not_ask_gets_the_bytes_here(linked: Served) -> None:
    answer = linked.get(PATH, redirect=False)
    assert (answer.status, answer.data) == (200, FILE)


def test_what_is_small_comes_from_here(linked: Served) -> None:
    answer = _ask(linked, "/openapi/jobs/j2/artifacts/download")
    assert (answer.status, answer.data) == (200, SMALL)


def test_without_the_setting_nobody_is_sent_anywhere(unlinked: Served) -> None:
    assert _ask(unlinked).status == 200
    assert "links" not in unlinked.get("/openapi/version").json()["features"]


def test_the_feature_is_told(linked: Served) -> None:
    assert "links" in linked.get("/openapi/version").json()["features"]


def test_a_stranger_gets_no_link(linked: Served) -> None:
    assert linked.get(PATH, headers=ASK, workspace="other", redirect=False).status == 404
    assert linked.pool.request("GET", linked.url + PATH, headers=ASK, redirect=False).status == 401


def test_conditions_are_judged_here(linked: Served) -> None:
    assert _ask(linked, If_None_Match=ETAG).status == 304
    assert _ask(linked, Range="bytes=10-", If_Range=ETAG).status == 307
    whole = _ask(linked, Range="bytes=10-", If_Range='"another version"')
    assert (whole.status, whole.data) == (200, FILE)
    assert _ask(linked, Range=f"bytes={len(FILE)}-").status == 416


def test_our_client_takes_the_link_and_keeps_the_key(linked: Served, tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []
    with _client(linked, tmp_path) as client:
        send = client._http.connections.request

        def watched(method: str, url: str, headers: str, *more: Any, **options: Any) -> Any:
            asked.append((urlsplit(url).netloc, headers))
            return send(method, url, headers, *more, **options)

        client._http.connections.request = watched  # type: ignore[method-assign]
        with client.job_artifact_stream("j1") as stream:
            assert stream.read() == FILE
            assert stream.etag == ETAG
            assert not stream.redirected
        with client.job_artifact_stream("j1", span=Span(1_000_000, ETAG)) as stream:
            assert (stream.status, stream.offset, stream.etag) == (206, 1_000_000, ETAG)
            assert stream.read() == FILE[1_000_000:]
    here, there = urlsplit(linked.url).netloc, {host for host, _ in asked} - {urlsplit(linked.url).netloc}
    assert len(there) == 1
    for host, headers in asked:
        assert (linked.key() in headers) == (host == here)
        if host in there:
            assert not re.search("^(If-Range|If-None-Match|Prefer):", headers, re.MULTILINE | re.IGNORECASE)


def test_a_store_out_of_reach_is_no_failure(linked: Served, tmp_path: Path) -> None:
    """The server reaches the store under an address that clients may not know: then the bytes come through the server."""

    real = linked.services.blobs

    class Elsewhere:
        kind = "s3"

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def link(self, sha256: str, *, seconds: int) -> str:
            return f"http://127.0.0.1:9/blobs/{sha256}?seconds={seconds}"

    linked.use(dataclasses.replace(linked.services, blobs=Elsewhere()))
    assert _ask(linked).headers["location"].startswith("http://127.0.0.1:9/")
    with _client(linked, tmp_path) as client:
        for _ in range(2):
            with client.job_artifact_stream("j1") as stream:
                assert stream.read() == FILE
        assert client._http._takes_links is False
