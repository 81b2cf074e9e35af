"""What an index says: JSON and HTML pages, yanked and unfit files, other projects of our name, and metadata that do not name us."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.contract.version import DISTRIBUTION, PROJECT_URL
from benchloop_client.errors import BenchloopError, IntegrityError, NetworkError, NotFound
from benchloop_client.settings import Settings
from benchloop_client.updates import lookup
from benchloop_client.updates.installers import Index
from benchloop_client.updates.lookup import SIMPLE_JSON, Page, Project
from tests.support.scripted import Answer, Scripted, scripted

OURS = Project(DISTRIBUTION, PROJECT_URL, "1.0.0")
INDEX = Index("https://index.test/simple/")
PAGE = "https://index.test/simple/benchloop-client/"
METADATA = f"Metadata-Version: 2.4\nName: benchloop_client\nProject-URL: Homepage, {PROJECT_URL}\n\nHome-page: {PROJECT_URL}\n".encode()


def wheel(version: str, **more: Any) -> dict[str, Any]:
    """A file of the index."""
    name = f"benchloop_client-{version}-py3-none-any.whl"
    return {"filename": name, "url": f"../../files/{name}", "core-metadata": True, **more}


class Pages:
    """A fetch that knows some pages; `asked` are the addresses in order."""

    def __init__(self, files: list[dict[str, Any]] | bytes, metadata: bytes | None = METADATA, **more: Any) -> None:
        self.asked: list[str] = []
        self._metadata = metadata
        self._body = files if isinstance(files, bytes) else json.dumps({"files": files, **more}).encode()
        self._type = "text/html" if isinstance(files, bytes) else SIMPLE_JSON

    def __call__(self, url: str, *, accept: str, limit: int) -> Page:
        self.asked.append(url)
        if url == PAGE:
            return Page(url, self._type, self._body)
        if url.endswith(".metadata") and self._metadata is not None:
            return Page(url, "application/octet-stream", self._metadata)
        raise NotFound(404, "gone")


def found(files: list[dict[str, Any]] | bytes, metadata: bytes | None = METADATA, **more: Any) -> str | None:
    """The newest version that such an index has of ours."""
    return lookup.latest(INDEX, OURS, Pages(files, metadata, **more))


def test_the_newest_wheel_counts_and_its_metadata_are_asked_for() -> None:
    pages = Pages([wheel("1.2.0"), wheel("1.10.0"), wheel("1.9")])
    assert lookup.latest(INDEX, OURS, pages) == "1.10.0"
    assert pages.asked == [PAGE, "https://index.test/files/benchloop_client-1.10.0-py3-none-any.whl.metadata"]


@pytest.mark.parametrize(
    "file",
    [
        wheel("9.0", yanked=True),
        wheel("9.0", yanked="broken"),
        wheel("9.0", **{"requires-python": ">=4"}),
        wheel("9.0rc1"),
        wheel("9.0.dev1"),
        wheel("1!9.0"),
        {**wheel("9.0"), "filename": "benchloop_client-9.0.tar.gz"},
        {**wheel("9.0"), "filename": "benchloop-9.0-py3-none-any.whl"},
        {**wheel("9.0"), "filename": "benchloop_client-9.0.whl"},
        {**wheel("9.0"), "url": 7},
    ],
)
def test_files_that_nobody_would_get_do_not_count(file: dict[str, Any]) -> None:
    assert found([file, wheel("1.1.0")]) == "1.1.0"
    assert found([file]) is None


def test_a_prerelease_counts_for_who_runs_one() -> None:
    assert lookup.latest(INDEX, Project(DISTRIBUTION, PROJECT_URL, "2.0a1"), Pages([wheel("2.0rc1"), wheel("1.1")])) == "2.0rc1"


@pytest.mark.parametrize(
    "metadata",
    [
        b"Name: benchloop_client\nProject-URL: Homepage, https://other.test/\n",
        b"Name: benchloop_client\n\n" + f"Project-URL: Homepage, {PROJECT_URL}\n".encode(),
        b"Summary: see " + PROJECT_URL.encode(),
        b"\xff\xfe",
        b"",
        None,
    ],
)
def test_another_project_of_our_name_is_nothing(metadata: bytes | None) -> None:
    assert found([wheel("9.0")], metadata) is None


@pytest.mark.parametrize(
    "line", [f"Home-page: {PROJECT_URL}", f"project-url: Source, {PROJECT_URL.rstrip('/')}", f"Project-URL: a, b, {PROJECT_URL}"]
)
def test_our_address_is_known_in_each_spelling(line: str) -> None:
    assert found([wheel("9.0")], f"{line}\n\n".encode()) == "9.0"


def test_without_metadata_of_its_own_a_wheel_is_not_known_to_be_ours() -> None:
    assert found([wheel("9.0", **{"core-metadata": False})]) is None


@pytest.mark.parametrize(
    "more",
    [
        {"project-urls": {"Homepage": PROJECT_URL}},
        {"meta": {"project_urls": [f"Homepage, {PROJECT_URL}"]}},
        {"info": {"home_page": PROJECT_URL}},
    ],
)
def test_the_answer_itself_may_name_us(more: dict[str, Any]) -> None:
    assert found([wheel("9.0", **{"core-metadata": False})], None, **more) == "9.0"
    assert found([wheel("9.0", **{"core-metadata": False})], None, info={"home_page": "https://other.test/"}) is None


def test_metadata_of_another_digest_are_not_believed() -> None:
    right, wrong = hashlib.sha256(METADATA).hexdigest(), "0" * 64
    assert found([wheel("9.0", **{"core-metadata": {"sha256": right}})]) == "9.0"
    assert found([wheel("9.0", **{"core-metadata": {"sha256": wrong}})]) is None


def test_a_page_of_links_is_read_as_well() -> None:
    page = b"""<!DOCTYPE html><html><head><base href="/mirror/"></head><body>
      <a href="f/benchloop_client-1.4.0-py3-none-any.whl#sha256=1f" data-core-metadata="true">x</a>
      <a href="f/benchloop_client-1.5.0-py3-none-any.whl" data-dist-info-metadata="sha256=%b" data-requires-python="&gt;=3.9">y</a>
      <a href="f/benchloop_client-1.6.0-py3-none-any.whl" data-yanked="" data-core-metadata="true">z</a>
      <a href="f/benchloop_client-1.7.0-py3-none-any.whl" data-core-metadata="true" data-requires-python="&gt;=9">z</a>
      <a>nothing</a>
    </body></html>""" % hashlib.sha256(METADATA).hexdigest().encode()
    pages = Pages(page)
    assert lookup.latest(INDEX, OURS, pages) == "1.5.0"
    assert pages.asked[-1] == "https://index.test/mirror/f/benchloop_client-1.5.0-py3-none-any.whl.metadata"


def test_an_index_without_us_has_nothing() -> None:
    def fetch(url: str, *, accept: str, limit: int) -> Page:
        raise NotFound(404, "no such project")

    assert lookup.latest(INDEX, OURS, fetch) is None


_KEYS = st.sampled_from(["files", "meta", "info", "filename", "url", "yanked", "core-metadata", "project_urls"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
)


@given(values)
def test_no_json_is_an_error(value: Any) -> None:
    def fetch(url: str, *, accept: str, limit: int) -> Page:
        return Page(url, SIMPLE_JSON, json.dumps(value).encode())

    assert lookup.latest(INDEX, OURS, fetch) is None


@contextmanager
def asking(server: Scripted, path: str = "/simple/", credentials: str = "") -> Iterator[tuple[Index, lookup.Fetch]]:
    """The index at a scripted server and a real fetch for it; the settings hold a key that must not travel."""
    index = Index.of(server.origin.replace("://", f"://{credentials}") + path)
    assert index is not None
    http = lookup.asking(index, Settings(host="https://bench.test", api_key="sk-secret", timeout=5.0), Event())
    try:
        yield index, lookup.fetching(index, http)
    finally:
        http.close()


def _answer(body: bytes, content_type: str = SIMPLE_JSON) -> Answer:
    return Answer(body=body, headers={"Content-Type": content_type})


@pytest.fixture
def server() -> Iterator[Scripted]:
    """An index on this machine."""
    with scripted() as running:
        yield running


def test_over_http_it_sends_what_is_right_and_never_the_key(server: Scripted) -> None:
    file = wheel("1.3.0")
    server.on("GET /simple/benchloop-client/", _answer(json.dumps({"files": [file]}).encode()))
    server.on(f"GET /files/{file['filename']}.metadata", _answer(METADATA, "text/plain"))
    with asking(server, credentials="me:pass@") as (index, fetch):
        assert lookup.latest(index, OURS, fetch) == "1.3.0"
    assert [seen.headers.get("authorization") for seen in server.seen] == ["Basic bWU6cGFzcw=="] * 2
    assert all("x-api-key" not in seen.headers and "sk-secret" not in str(seen.headers) for seen in server.seen)
    assert server.seen[0].headers["accept"].startswith(SIMPLE_JSON)


def test_credentials_do_not_follow_to_another_origin(server: Scripted) -> None:
    file = wheel("1.3.0")
    with scripted() as away:
        away.on("GET /simple/benchloop-client/", _answer(json.dumps({"files": [file]}).encode()))
        away.on(f"GET /files/{file['filename']}.metadata", _answer(METADATA, "text/plain"))
        server.on("GET /simple/benchloop-client/", Answer(status=302, headers={"Location": f"{away.origin}/simple/benchloop-client/"}))
        with asking(server, credentials="me:pass@") as (index, fetch):
            assert lookup.latest(index, OURS, fetch) == "1.3.0"
        assert len(away.seen) == 2
        assert all("authorization" not in seen.headers for seen in away.seen)


def test_a_page_that_is_too_large_is_given_up(server: Scripted) -> None:
    server.on("GET /simple/benchloop-client/", _answer(b" " * 5000))
    with asking(server) as (index, fetch), pytest.raises(IntegrityError, match="larger than 100 bytes"):
        fetch(f"{index.url}benchloop-client/", accept="*/*", limit=100)


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_a_refusal_is_one_request_and_an_error(server: Scripted, status: int) -> None:
    server.on("GET /simple/benchloop-client/", Answer(status=status, headers={"Retry-After": "60"}))
    with asking(server) as (index, fetch), pytest.raises(BenchloopError):
        lookup.latest(index, OURS, fetch)
    assert len(server.seen) == 1


def test_nobody_there_is_a_network_error() -> None:
    with scripted() as gone:
        pass
    with asking(gone) as (index, fetch), pytest.raises(NetworkError):
        lookup.latest(index, OURS, fetch)
