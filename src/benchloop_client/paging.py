"""Whole lists out of pages, exactly or with a loud failure: by cursor where the server has one, else by offset over a moving list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchloop_client.client import Client
from benchloop_client.errors import ApiError, IntegrityError

Row = dict[str, Any]
OnPage = Callable[[int, "int | None"], None]

#: Page sizes of the passes over a list that moves while it is read; other sizes cut it at other places.
_PASS_SIZES = (1000, 999, 500)


class Fetch(Protocol):
    """One page: the decoded answer for this offset, size and cursor."""

    def __call__(self, *, skip: int, limit: int, cursor: str | None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What one list looks like. `rows`: key of the list in an answer. `ids`: keys of a row's identity, the first one present counts.
    `required`: a row without identity fails the list. `order`: key the list is sorted by, if rows with an equal one may change places
    between pages.
    """

    label: str
    rows: str
    ids: tuple[str, ...]
    required: bool = True
    order: str | None = None


JOBS = Kind("jobs", "jobs", ("job_id", "id"), order="created_at")
METRICS = Kind("metrics", "metrics", ("job_id",))
TASKS = Kind("tasks", "tasks", ("task_id", "id"), required=False)
GROUPS = Kind("groups", "groups", ("group_id",))
ARTIFACTS = Kind("artifacts", "artifacts", (), required=False)


@dataclass
class Listing:
    """All rows of a list, each once, in the order of the server; iterate over it once.

    `total`: what the server announces (after the first page), else what was counted (after the last). `first`: the first page's answer, for
    what stands beside the rows. `on_page(rows so far, total)` is called after each page. Raises `IntegrityError` if the list cannot be had
    completely: its message says how many of how many. Memory: a number of 8 bytes for each row.
    """

    kind: Kind
    fetch: Fetch
    page_size: int = 1000
    name: str = ""
    on_page: OnPage | None = None
    total: int | None = None
    first: Row | None = None
    _seen: set[int] = field(default_factory=set, repr=False)
    _count: int = 0

    def __iter__(self) -> Iterator[Row]:
        sizes = list(dict.fromkeys((self.page_size, *_PASS_SIZES)))
        for size in sizes:
            scan = _Pass(self, size)
            yield from scan.rows()
            if scan.complete:
                break
        else:
            self._give_up()
        if self.total is None:
            self.total = self._count

    def page(self, answer: Any) -> list[Row]:
        """The rows of one answer; notes `total` and `first`. Raises `ApiError` for an answer of another shape."""
        rows = answer.get(self.kind.rows) if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ApiError(200, f"the list of {self.kind.label}{self._of()} has no usable `{self.kind.rows}`")
        if self.first is None:
            self.first = {key: value for key, value in answer.items() if key != self.kind.rows}
        total = answer.get("total")
        if isinstance(total, int) and not isinstance(total, bool):
            self.total = total
        return rows

    def identity(self, row: Row) -> int | None:
        """A number for the row's id; None for a row that has none and needs none. Raises `ApiError` for one that needs one."""
        for name in self.kind.ids:
            value = row.get(name)
            if value is not None and value != "":
                return _number(str(value))
        if self.kind.required:
            raise ApiError(200, f"a row in the list of {self.kind.label}{self._of()} has no `{self.kind.ids[0]}`")
        return None

    def is_new(self, identity: int | None) -> bool:
        """True when this row was not seen in any pass; from then on it counts as seen."""
        if identity is not None and identity in self._seen:
            return False
        if identity is not None:
            self._seen.add(identity)
        self._count += 1
        return True

    def report(self) -> None:
        """Tell the listener where the list stands."""
        if self.on_page:
            self.on_page(self._count, self.total)

    def _give_up(self) -> None:
        raise IntegrityError(
            f"the list of {self.kind.label}{self._of()} kept changing or is incomplete: "
            f"{self._count} of {self.total if self.total is not None else 'an unknown number'} could be listed; try again"
        )

    def _of(self) -> str:
        return f" of {self.name}" if self.name else ""


class _Pass:
    """One walk over the list. `complete` tells afterwards whether it saw all of it."""

    def __init__(self, listing: Listing, size: int) -> None:
        self._listing = listing
        self._size = size
        self._seen: set[int] = set()
        self._nameless = 0
        self._moved = False
        self._announced: int | None = None
        self._overlap = 0
        self.complete = False

    def rows(self) -> Iterator[Row]:
        answer = self._listing.fetch(skip=0, limit=self._size, cursor=None)
        cursor = _cursor(answer)
        walk = self._by_cursor(answer, cursor) if cursor else self._by_offset(answer)
        yield from walk

    def _by_cursor(self, answer: Any, cursor: str | None) -> Iterator[Row]:
        used: set[str] = set()
        while True:
            yield from self._take(self._listing.page(answer))
            if not cursor:
                break
            if cursor in used:
                return
            used.add(cursor)
            answer = self._listing.fetch(skip=0, limit=self._size, cursor=cursor)
            cursor = _cursor(answer)
        total = self._listing.total
        self.complete = total is None or self._count >= total

    def _by_offset(self, answer: Any) -> Iterator[Row]:
        skip = 0
        last: int | None = None
        while True:
            page = self._listing.page(answer)
            self._note_movement(page, last)
            before = self._count
            yield from self._take(page)
            # A page that brings nothing new is the end, or the server does not page at all; `_ends` tells which.
            if self._ends(page, skip, self._count - before) or self._count == before:
                return
            last = self._listing.identity(page[-1])
            skip += self._advance(page)
            answer = self._listing.fetch(skip=skip, limit=self._size, cursor=None)

    def _take(self, page: list[Row]) -> Iterator[Row]:
        for row in page:
            identity = self._listing.identity(row)
            if identity is None:
                self._nameless += 1
            else:
                self._seen.add(identity)
            if self._listing.is_new(identity):
                yield row
        self._listing.report()

    def _note_movement(self, page: list[Row], last: int | None) -> None:
        """A list that lost rows moved under the walk; so did an ordered one whose last row is not in the next page, which overlaps."""
        total = self._listing.total
        shrank = total is not None and self._announced is not None and total < self._announced
        self._announced = total
        gone = (
            last is not None
            and self._listing.kind.order is not None
            and self._overlap > 0
            and not any(self._listing.identity(row) == last for row in page)
        )
        self._moved = self._moved or shrank or gone

    def _ends(self, page: list[Row], skip: int, added: int) -> bool:
        total = self._listing.total
        if total is None:
            # Without a total only an empty page is the end: a short one may come from a server that caps its pages.
            self.complete = not self._moved and (not page or (added == 0 and len(page) < self._size))
            return self.complete
        # Having seen `total` rows is not enough: some of them may have left since, and as many others come.
        at_the_end = not page or skip + len(page) >= total
        self.complete = at_the_end and self._count >= total and not self._moved
        return at_the_end

    def _advance(self, page: list[Row]) -> int:
        """How far to go on: past the page, but back to the start of the run of equal sort keys at its end, so that rows which changed
        places there are not missed. A page that is one single run gives one row of overlap.
        """
        order = self._listing.kind.order
        self._overlap = 0
        if order is not None and len(page) > 1:
            key = page[-1].get(order)
            run = next((index for index, row in enumerate(reversed(page)) if row.get(order) != key), len(page))
            self._overlap = run if run < len(page) and key not in (None, "") else 1
        return len(page) - self._overlap

    @property
    def _count(self) -> int:
        return len(self._seen) + self._nameless


def all_jobs(
    client: Client, group_id: str, *, page_size: int = 1000, filters: dict[str, Any] | None = None, on_page: OnPage | None = None
) -> Listing:
    """Every job of a group (E7)."""

    def fetch(*, skip: int, limit: int, cursor: str | None) -> Any:
        return client.jobs_page(group_id, skip=skip, limit=limit, cursor=cursor, filters=filters)

    return Listing(JOBS, fetch, page_size, group_id, on_page)


def all_metrics(client: Client, group_id: str, *, on_page: OnPage | None = None) -> Listing:
    """The metrics of every job of a group that has some (E2); `first` holds the group's `tokenized_metrics`."""

    def fetch(*, skip: int, limit: int, cursor: str | None) -> Any:
        return client.metrics_page(group_id, skip=skip, limit=limit, cursor=cursor)

    return Listing(METRICS, fetch, 1000, group_id, on_page)


def all_tasks(
    client: Client,
    group_id: str,
    *,
    page_size: int = 50,
    search: str | None = None,
    status: str | None = None,
    on_page: OnPage | None = None,
) -> Listing:
    """Every task of a group (E6)."""

    def fetch(*, skip: int, limit: int, cursor: str | None) -> Any:
        return client.eval_tasks_page(group_id, skip=skip, limit=limit, search=search, status=status)

    return Listing(TASKS, fetch, page_size, group_id, on_page)


def all_groups(client: Client, *, on_page: OnPage | None = None) -> Listing:
    """Every group of the workspace, newest first; our own route."""

    def fetch(*, skip: int, limit: int, cursor: str | None) -> Any:
        return client.groups_page(limit=limit, cursor=cursor)

    return Listing(GROUPS, fetch, 1000, "", on_page)


def all_group_artifacts(client: Client, group_id: str, *, on_page: OnPage | None = None) -> Listing:
    """The artifacts of every job of a group; our own route."""

    def fetch(*, skip: int, limit: int, cursor: str | None) -> Any:
        return client.group_artifacts_page(group_id, skip=skip, limit=limit, cursor=cursor)

    return Listing(ARTIFACTS, fetch, 1000, group_id, on_page)


def _cursor(answer: Any) -> str | None:
    cursor = answer.get("next_cursor") if isinstance(answer, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


def _number(identity: str) -> int:
    return int.from_bytes(hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
