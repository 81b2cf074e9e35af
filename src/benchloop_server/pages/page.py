"""What a page is before it is drawn: who asks for what, what is shown, and how the same is had by command line. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from benchloop_server.kit.errors import bad_request
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

Pairs = tuple[tuple[str, str], ...]
S = TypeVar("S")
_LONGEST_QUERY_VALUE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for a page: `ids` are the fields of the path, `query` the pairs behind `?` in order, `body` what an action was sent."""

    services: Services
    principal: Principal
    path: str
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Pairs = ()
    body: Mapping[str, Any] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        """The last value of a query parameter. Raises `DomainError` (400) for an endless one."""
        values = self.all(name)
        return values[-1] if values else default

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a query parameter."""
        values = tuple(value for key, value in self.query if key == name)
        if any(len(value) > _LONGEST_QUERY_VALUE for value in values):
            raise bad_request(f"`{name}` is longer than {_LONGEST_QUERY_VALUE} characters")
        return values

    def whole(self, name: str, default: int, *, most: int) -> int:
        """A query parameter as a whole number from 1 to `most`. Raises `DomainError` (400)."""
        text = self.one(name) or str(default)
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:18]) <= most:
            raise bad_request(f"`{name}` has to be a whole number from 1 to {most}")
        return int(text)

    def sent(self, kind: type[S]) -> S:
        """The body of an action as this struct. Raises `DomainError` (400)."""
        try:
            return msgspec.convert(self.body, kind)
        except msgspec.ValidationError as error:
            raise bad_request(f"the form cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step of the way from the first page to this one."""

    label: str
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page. `data` is all that the template shows and all that the `.json` twin gives; it holds what msgspec can write.

    `line` is the sentence under the title; `commands` are `bl` calls that give the same; `routes` are paths under `/openapi` for `curl`.
    `charts` lets the page have what plotly needs. `live`: seconds after which the page looks for news by itself: at the address of `news`,
    if that answers another `version` than the one beside it.
    """

    template: str
    title: str
    data: Mapping[str, Any]
    crumbs: Sequence[Crumb] = ()
    line: str = ""
    commands: Sequence[str] = ()
    routes: Sequence[str] = ()
    charts: bool = False
    live: int | None = None
    news: tuple[str, str] | None = None
    status: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A part of a page, fetched by its script: a template without the frame."""

    template: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an action came to: where the browser goes now (None: it stays), and what it is told."""

    location: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A page that is at another address."""

    location: str


def path_of(*parts: str) -> str:
    """The path of a page: each part one segment. A last part that ends like a twin gets `.html`, which means the page itself."""
    quoted = [quote(part, safe="") for part in parts]
    if parts[-1].endswith((".json", ".html")):
        quoted[-1] += ".html"
    return "/" + "/".join(quoted)


def with_query(path: str, pairs: Pairs) -> str:
    """The address with these query parameters; empty ones stay out."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def changed(query: Pairs, **changes: str | int | None) -> Pairs:
    """The query with some parameters set anew; None takes one out. The place in a list starts from its beginning again."""
    dropped = {*changes, "after", "before"} if not {"after", "before"} & set(changes) else {"after", "before", *changes}
    kept = [(name, value) for name, value in query if name not in dropped]
    return (*kept, *((name, str(value)) for name, value in changes.items() if value is not None))


def command(*words: str | None, **options: Any) -> str:
    """A `bl` call that can be pasted into a shell: `command("jobs", "-g", group, outcome="failed")`."""
    return shlex.join(["bl", *(word for word in words if word is not None), *_flags(options)])


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if value is not None and value != "":
            yield f"--{name.replace('_', '-')}"
            yield str(value)
