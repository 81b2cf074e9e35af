"""What the lists of a group have in common: one page as it is, or all rows through a temporary file, as text or as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchloop_client import paging
from benchloop_client.actions.destination import Destination, in_group
from benchloop_client.actions.events import Counted, Counter, Wrote
from benchloop_client.actions.layout import Layout, Rows, object_chunks
from benchloop_client.actions.report import Report
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.work import Counted as CountedItems
from benchloop_client.actions.work import Work, placed

OnPage = Callable[[int, "int | None"], None]

#: Rows a request where nothing was asked for: the documented number, and the one for whole lists on a server of ours.
PAGE = 50
LARGE_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Query:
    """Which rows: one page (from 1), or with `everything` all of them, `page_size` a request; `filters` as the list takes them."""

    page: int = 1
    page_size: int | None = None
    everything: bool = False
    filters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def skip(self) -> int:
        """How many rows come before the page."""
        return (self.page - 1) * self.limit

    @property
    def limit(self) -> int:
        """Rows of one page."""
        return self.page_size or PAGE

    def rows_a_request(self, work: Work) -> int:
        """What to ask for at once where the whole list is wanted: a server that says what it can takes large pages."""
        return self.page_size or (LARGE_PAGE if work.client.has("cursor") else PAGE)


class ListOf(Protocol):
    """One kind of list: `rows` is its key in the answers, `file` its name on the disk, `label` the word in progress lines."""

    rows: str
    file: str
    label: str

    def page(self, work: Work, group_id: str, query: Query) -> Any:
        """One page's answer."""

    def listing(self, work: Work, group_id: str, query: Query, on_page: OnPage | None) -> paging.Listing:
        """All rows."""


def element(kind: ListOf, work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The object of one group as text. Raises `NotFound` for an unknown group, `IntegrityError` if rows are missing."""
    if query.everything:
        yield from whole(kind, work, group_id, query, layout=layout)
        return
    answer = kind.page(work, group_id, query)
    if not isinstance(answer, dict):
        yield layout.value(answer if answer is None else {"group_id": group_id, "data": answer})
        return
    if answer.get(kind.rows) == []:
        must_exist(work.client, group_id)
    yield layout.value({"group_id": group_id, **answer})


def whole(kind: ListOf, work: Work, group_id: str, query: Query, *, layout: Layout, on_page: OnPage | None = None) -> Iterator[bytes]:
    """`{group_id, total, <rows>}` with all rows, as text."""
    with spooled(kind.listing(work, group_id, query, on_page), layout.inner(2)) as rows:
        if not rows.count:
            must_exist(work.client, group_id)
        yield from object_chunks((("group_id", group_id), ("total", rows.total), (kind.rows, rows)), layout)


def rows(kind: ListOf, work: Work, group_id: str, query: Query, *, layout: Layout) -> Iterator[bytes]:
    """The rows of one group, each as text with a line end: one page's, or all. Raises `NotFound` for an unknown group."""
    answer = None if query.everything else kind.page(work, group_id, query)
    found = kind.listing(work, group_id, query, None) if query.everything else _rows_of(answer, kind)
    empty = True
    for row in found:
        empty = False
        yield layout.value({"group_id": group_id, **row}) + b"\n"
    if empty:
        must_exist(work.client, group_id)


def _rows_of(answer: Any, kind: ListOf) -> list[dict[str, Any]]:
    rows = answer.get(kind.rows) if isinstance(answer, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def spooled(listing: paging.Listing, layout: Layout) -> Rows:
    """The rows of a listing in a temporary file; `layout` is that of a row."""
    rows = Rows(layout)
    try:
        for row in listing:
            rows.add(row)
    except BaseException:
        rows.close()
        raise
    rows.total = listing.total if listing.total is not None else rows.count
    return rows


def download(kind: ListOf, work: Work, groups: Sequence[str], destination: Destination, *, query: Query) -> Report:
    """Write the list of each group to its file."""
    counter = Counter(work.watch, f"group {kind.label}-list downloads", "groups", len(groups))

    def one(group_id: str) -> object:
        return save(kind, work, group_id, destination, query=query, on_page=_told(kind, work, group_id))

    return work.run(groups, one, count=CountedItems(counter, "downloaded"))


def save(kind: ListOf, work: Work, group_id: str, destination: Destination, *, query: Query, on_page: OnPage | None = None) -> object:
    """Write the list of one group to `<group>/<file>`; returns its path."""
    seen: list[int] = []

    def chunks() -> Iterator[bytes]:
        def count(done: int, total: int | None) -> None:
            seen[:] = [done]
            if on_page is not None:
                on_page(done, total)

        yield from whole(kind, work, group_id, query, layout=destination.layout, on_page=count)

    source = f"{kind.rows} {group_id}" + "".join(f" {name}={value}" for name, value in sorted(query.filters.items()) if value)
    path = in_group(group_id, kind.file)
    destination.ask_again(path)
    outcome = destination.save_json(path, source, chunks)
    return placed(work, outcome, lambda path: Wrote(path, f"{seen[0] if seen else 0} {kind.rows}"))


def _told(kind: ListOf, work: Work, group_id: str) -> OnPage:
    def tell(done: int, total: int | None) -> None:
        work.watch(Counted(f"group {kind.rows} {group_id}", kind.rows, done, total, "fetched"))

    return tell
