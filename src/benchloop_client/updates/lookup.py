"""What an index says about our project: the newest version that this Python can install, if the entry is ours at all."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any, Protocol
from urllib.parse import urldefrag, urljoin, urlsplit

from benchloop_client._calls import Call
from benchloop_client._decode import parse_json
from benchloop_client._http import Http
from benchloop_client.addresses import Origin
from benchloop_client.errors import IntegrityError, NotFound
from benchloop_client.settings import Settings
from benchloop_client.updates.installers import Index
from benchloop_client.updates.versions import key, preliminary, suits

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{SIMPLE_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
#: Seconds for each wait of a look-up, and the bytes that a page and the metadata of a wheel may have.
TIMEOUT = 5.0
_PAGE_LIMIT = 16 << 20
_METADATA_LIMIT = 1 << 20
_PYTHON = sys.version_info[:3]


@dataclass(frozen=True, slots=True)
class Project:
    """Who we are: the distribution's name, the project's own address, and the version that runs."""

    name: str
    address: str
    version: str

    @property
    def slug(self) -> str:
        """The name as indexes spell it in addresses."""
        return re.sub(r"[-_.]+", "-", self.name).lower()

    def is_address(self, url: object) -> bool:
        """True for the project's own address, with or without a slash at the end."""
        return isinstance(url, str) and _plain(url) == _plain(self.address)


@dataclass(frozen=True, slots=True)
class Page:
    """An answer: where it came from in the end, its type, its bytes."""

    url: str
    content_type: str
    body: bytes


class Fetch(Protocol):
    """Asks for one address. Raises our own errors, `NotFound` for 404."""

    def __call__(self, url: str, *, accept: str, limit: int) -> Page: ...


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel of the index: its version, its address, whether its metadata can be had alone (and their SHA-256, hex, if told)."""

    version: str
    url: str
    metadata: bool = False
    metadata_sha256: str | None = None


def latest(index: Index, project: Project, fetch: Fetch) -> str | None:
    """The newest version of `project` in the index; None if there is none, or if the entry does not name the project's own address.

    Pre-releases count only for who runs one. Yanked files and those for another Python do not. Raises what `fetch` raises.
    """
    try:
        page = fetch(urljoin(index.url, f"{project.slug}/"), accept=ACCEPT, limit=_PAGE_LIMIT)
    except NotFound:
        return None
    answer = parse_json(page.body) if "json" in page.content_type else None
    files = _files_of_json(answer) if answer is not None else _files_of_html(page)
    wheel = _newest(files, project, page.url)
    if wheel is None:
        return None
    if _named_in_json(answer, project) or (wheel.metadata and _named_in_metadata(wheel, project, fetch)):
        return wheel.version
    return None


def asking(index: Index, settings: Settings, cancel: threading.Event) -> Http:
    """Connections to the index, with proxies and certificates as `settings` say, and without its host and key."""
    origin = str(Origin.of(index.url))
    return Http(replace(settings, host=origin, api_key=None, timeout=min(TIMEOUT, settings.timeout), retry=0, concurrency=2), cancel)


def fetching(index: Index, http: Http) -> Fetch:
    """Asks over `http`; the credentials go to the index's own origin only."""
    home = Origin.of(index.url)

    def fetch(url: str, *, accept: str, limit: int) -> Page:
        headers = {"Accept": accept}
        if index.authorization is not None and Origin.of(url) == home:
            headers["Authorization"] = index.authorization
        with http.open(Call("GET", url, headers=headers)) as stream:
            body = bytearray()
            for piece in stream:
                body += piece
                if len(body) > limit:
                    raise IntegrityError(f"the answer from {Origin.of(stream.url)} is larger than {limit} bytes")
            return Page(stream.url, stream.headers.get("content-type", "").lower(), bytes(body))

    return fetch


def _newest(files: Iterator[Mapping[str, Any]], project: Project, base: str) -> Wheel | None:
    found: Wheel | None = None
    for file in files:
        version = _wheel_version(file, project)
        if version is None or (preliminary(version) and not preliminary(project.version)):
            continue
        if found is not None and (key(version) or ()) <= (key(found.version) or ()):
            continue
        metadata = file.get("core-metadata", file.get("dist-info-metadata", file.get("data-dist-info-metadata")))
        sha256 = metadata.get("sha256") if isinstance(metadata, dict) else None
        url = urldefrag(urljoin(base, str(file["url"])))[0]
        found = Wheel(version, url, bool(metadata), sha256 if isinstance(sha256, str) else None)
    return found


def _wheel_version(file: Mapping[str, Any], project: Project) -> str | None:
    """The version of a wheel of ours that this Python may install."""
    name, requires = file.get("filename"), file.get("requires-python")
    if not isinstance(name, str) or not isinstance(file.get("url"), str) or not name.endswith(".whl"):
        return None
    if file.get("yanked") not in (None, False) or (isinstance(requires, str) and not suits(requires, _PYTHON)):
        return None
    parts = name.split("-")
    if len(parts) not in {5, 6} or re.sub(r"[-_.]+", "-", parts[0]).lower() != project.slug or key(parts[1]) is None:
        return None
    return parts[1]


def _files_of_json(answer: Any) -> Iterator[Mapping[str, Any]]:
    files = answer.get("files") if isinstance(answer, dict) else None
    yield from (file for file in files if isinstance(file, dict)) if isinstance(files, list) else ()


def _files_of_html(page: Page) -> Iterator[Mapping[str, Any]]:
    """The links of a PEP 503 page in the shape that the JSON of PEP 691 has."""
    reader = _Links(page.url)
    reader.feed(page.body.decode("utf-8", "replace"))
    reader.close()
    yield from reader.files


class _Links(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = base
        self.files: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link; a `<base>` moves what the links below it are relative to."""
        given = {name: value or "" for name, value in attrs}
        if tag == "base" and given.get("href"):
            self._base = urljoin(self._base, given["href"])
        if tag != "a" or not given.get("href"):
            return
        url = urljoin(self._base, given["href"])
        metadata = given.get("data-core-metadata", given.get("data-dist-info-metadata"))
        self.files.append(
            {
                "url": url,
                "filename": urlsplit(url).path.rpartition("/")[2],
                "yanked": True if "data-yanked" in given else None,
                "requires-python": given.get("data-requires-python"),
                "core-metadata": _hashes(metadata),
            }
        )


def _hashes(value: str | None) -> dict[str, str] | bool:
    """`sha256=…` or `true` of a link's attribute, as the JSON spells it."""
    if value is None or value == "false":
        return False
    name, _, digest = value.partition("=")
    return {name: digest} if digest else True


def _named_in_json(answer: Any, project: Project) -> bool:
    """Whether the answer itself lists the project's address (some indexes add it; the standard does not ask for it)."""
    if not isinstance(answer, dict):
        return False
    for table in (answer, answer.get("meta"), answer.get("info")):
        if not isinstance(table, dict):
            continue
        for name in ("project-urls", "project_urls", "home-page", "home_page"):
            value = table.get(name)
            urls = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            if any(project.is_address(url.rpartition(", ")[2] if isinstance(url, str) else url) for url in urls):
                return True
    return False


def _named_in_metadata(wheel: Wheel, project: Project, fetch: Fetch) -> bool:
    """Whether the wheel's `METADATA` (PEP 658) lists the project's address."""
    try:
        raw = fetch(f"{wheel.url}.metadata", accept="*/*", limit=_METADATA_LIMIT).body
    except NotFound:
        return False
    if wheel.metadata_sha256 is not None and hashlib.sha256(raw).hexdigest() != wheel.metadata_sha256.lower():
        return False
    for line in raw.decode("utf-8", "replace").splitlines():
        if not line.strip():
            return False
        name, _, value = line.partition(":")
        if name.lower() == "home-page" and project.is_address(value.strip()):
            return True
        if name.lower() == "project-url" and project.is_address(value.rpartition(",")[2].strip()):
            return True
    return False


def _plain(url: str) -> tuple[str, str] | None:
    """What two spellings of one address have in common."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}".lower(), parts.path.rstrip("/")
