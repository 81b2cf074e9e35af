"""Lists come whole, whatever the server does with its pages, or fail loudly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchloop_client.client import Client
from benchloop_client.errors import ApiError, IntegrityError
from benchloop_client.paging import JOBS, METRICS, TASKS, Kind, Listing, all_jobs, all_metrics, all_tasks
from tests.unit.client.scripted import Answer, Asked, as_json, scripted

Rows = list[dict[str, Any]]


def jobs(count: int, *, per_time: int = 1) -> Rows:
    return [{"job_id": f"J{i}", "created_at": i // per_time} for i in range(count)]


class Pages:
    """A list served by offset; `calls` records (skip, limit)."""

    def __init__(self, rows: Rows, *, cap: int = 1000, total: bool = True, key: str = "jobs") -> None:
        self.rows, self.cap, self.total, self.key = rows, cap, total, key
        self.calls: list[tuple[int, int]] = []
        self.before_page: Callable[[int], None] = lambda number: None

    def __call__(self, *, skip: int, limit: int, cursor: str | None) -> Any:
        self.before_page(len(self.calls))
        self.calls.append((skip, limit))
        page = self.rows[skip : skip + min(limit, self.cap)]
        return {self.key: page, **({"total": len(self.rows)} if self.total else {})}


def ids(listing: Listing) -> list[str]:
    return [row["job_id"] for row in listing]


def test_every_row_once_in_order() -> None:
    pages = Pages(jobs(2500))
    listing = Listing(JOBS, pages)
    assert ids(listing) == [f"J{i}" for i in range(2500)]
    assert listing.total == 2500
    assert len(pages.calls) == 3


def test_one_page_is_one_request() -> None:
    pages = Pages(jobs(1000))
    assert len(ids(Listing(JOBS, pages))) == 1000
    assert pages.calls == [(0, 1000)]


@pytest.mark.parametrize("total", [True, False])
def test_three_thousand_jobs_made_at_the_same_time(total: bool) -> None:
    assert len(set(ids(Listing(JOBS, Pages(jobs(3000, per_time=3000), total=total))))) == 3000


@pytest.mark.parametrize("created_at", [None, ""])
def test_jobs_without_a_time(created_at: str | None) -> None:
    rows = [{"job_id": f"J{i}", "created_at": created_at} for i in range(2100)]
    assert len(ids(Listing(JOBS, Pages(rows)))) == 2100


def test_the_run_of_equal_times_at_the_end_of_a_page_is_read_again() -> None:
    pages = Pages(jobs(1500, per_time=300))
    assert len(ids(Listing(JOBS, pages))) == 1500
    assert pages.calls[1] == (900, 1000)


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize("kind", [JOBS, METRICS])
def test_capped_pages_lose_nothing(total: bool, kind: Kind) -> None:
    pages = Pages(jobs(550), cap=100, total=total, key=kind.rows)
    assert len(ids(Listing(kind, pages))) == 550


def test_a_server_that_always_sends_everything_is_done_after_one_look_more() -> None:
    asked = []

    def fetch(**query: Any) -> Any:
        asked.append(query)
        return {"jobs": jobs(5)}

    assert len(ids(Listing(JOBS, fetch))) == 5
    assert len(asked) == 2


def test_a_server_that_repeats_full_pages_fails_loudly() -> None:
    with pytest.raises(IntegrityError, match="1000 of an unknown number"):
        ids(Listing(JOBS, lambda *, skip, limit, cursor: {"jobs": jobs(limit)}, page_size=10))


def test_duplicates_are_dropped() -> None:
    doubled = [*jobs(15), *jobs(15)]
    assert len(ids(Listing(METRICS, lambda **query: {"metrics": doubled[query["skip"] :], "total": 15}))) == 15


def test_a_list_that_grows_is_followed() -> None:
    pages = Pages(jobs(2500))
    pages.before_page = lambda number: pages.rows.extend(jobs(2520)[2500:]) if number == 2 else None
    assert len(set(ids(Listing(JOBS, pages)))) == 2520


def test_rows_that_leave_in_the_middle_hide_no_others() -> None:
    pages = Pages(jobs(2500))

    def shrink(number: int) -> None:
        if number == 1:
            del pages.rows[:10]

    pages.before_page = shrink
    found = ids(Listing(JOBS, pages))
    assert {row["job_id"] for row in pages.rows} <= set(found)
    assert len(found) == len(set(found))


def test_rows_that_come_in_the_middle_are_found() -> None:
    pages = Pages(jobs(2500))

    def insert(number: int) -> None:
        if number == 1:
            pages.rows[5:5] = [{"job_id": f"N{i}", "created_at": 4} for i in range(10)]

    pages.before_page = insert
    found = ids(Listing(JOBS, pages))
    assert {row["job_id"] for row in pages.rows} == set(found)


def test_a_list_that_never_holds_still_fails_naming_how_many() -> None:
    pages = Pages(jobs(3000))
    pages.before_page = lambda number: pages.rows.__delitem__(slice(0, 7))
    with pytest.raises(IntegrityError, match=r"jobs of G .* \d+ of \d+ could be listed"):
        ids(Listing(JOBS, pages, name="G"))


def test_a_total_that_is_too_large_fails_naming_how_many() -> None:
    with pytest.raises(IntegrityError, match="3 of 9"):
        ids(Listing(JOBS, lambda **query: {"jobs": jobs(3)[query["skip"] :], "total": 9}))


@pytest.mark.parametrize("answer", [None, [], {}, {"jobs": None}, {"jobs": [3]}, {"jobs": [{"x": 1}]}, {"jobs": [{"job_id": ""}]}])
def test_answers_of_another_shape_fail(answer: Any) -> None:
    with pytest.raises(ApiError, match="jobs of G"):
        ids(Listing(JOBS, lambda **query: answer, name="G"))


def test_tasks_without_an_id_are_all_kept() -> None:
    rows = [{"name": i} for i in range(120)]
    listing = Listing(TASKS, Pages(rows, key="tasks"), page_size=50)
    assert list(listing) == rows


def test_what_stands_beside_the_rows_is_kept() -> None:
    listing = Listing(METRICS, lambda **query: {"metrics": jobs(1), "tokenized_metrics": {"a": 1}})
    assert len(list(listing)) == 1
    assert listing.first == {"tokenized_metrics": {"a": 1}}
    assert listing.total == 1


def test_progress_is_told_page_by_page() -> None:
    told: list[tuple[int, int | None]] = []
    ids(Listing(JOBS, Pages(jobs(1500)), on_page=lambda count, total: told.append((count, total))))
    assert told == [(1000, 1500), (1500, 1500)]


def test_rows_arrive_before_the_list_is_complete() -> None:
    pages = Pages(jobs(5000))
    iterator = iter(Listing(JOBS, pages))
    next(iterator)
    assert len(pages.calls) == 1


def cursor_server(rows: Rows, **extra: Any) -> Callable[[Asked, Any], Answer]:
    def answer(asked: Asked, raw: Any) -> Answer:
        start = int(asked.query.get("cursor") or asked.query["skip"])
        end = start + int(asked.query["limit"])
        following = str(end) if end < len(rows) else None
        return as_json({"jobs": rows[start:end], "total": len(rows), "next_cursor": following, **extra})

    return answer


def test_a_cursor_is_followed(connect: Callable[..., Client]) -> None:
    with scripted(cursor_server(jobs(2500))) as server:
        assert len(ids(all_jobs(connect(server.address), "G", filters={"status": "completed"}))) == 2500
    assert [asked.query.get("cursor") for asked in server.asked] == [None, "1000", "2000"]
    assert all(asked.query["status"] == "completed" and asked.query["group_id"] == "G" for asked in server.asked)


def test_a_cursor_that_turns_in_circles_fails(connect: Callable[..., Client]) -> None:
    answer = as_json({"jobs": jobs(5), "total": 50, "next_cursor": "x"})
    with scripted(lambda asked, raw: answer) as server, pytest.raises(IntegrityError, match="5 of 50"):
        ids(all_jobs(connect(server.address), "G"))


def test_metrics_and_tasks_ask_their_own_routes(connect: Callable[..., Client]) -> None:
    def answer(asked: Asked, raw: Any) -> Answer:
        key = "tasks" if asked.path.endswith("eval_tasks") else "metrics"
        return as_json({key: [{"job_id": "J", "task_id": "T"}], "total": 1})

    with scripted(answer) as server:
        client = connect(server.address)
        assert len(list(all_metrics(client, "G"))) == len(list(all_tasks(client, "G", search="x"))) == 1
    assert server.asked[0].query == {"group_id": "G", "skip": "0", "limit": "1000"}
    assert server.asked[1].query == {"skip": "0", "limit": "50", "search": "x"}


class Moving(Pages):
    """A list that loses and gains rows between pages as `script` says: (from where on to drop, how many, how many to add at the end)."""

    def __init__(self, count: int, script: list[tuple[int, int, int]], per_time: int) -> None:
        super().__init__(jobs(count, per_time=per_time), cap=20)
        self.ever = [row["job_id"] for row in self.rows]
        self.script, self.per_time = script, per_time
        self.before_page = self.move

    def move(self, number: int) -> None:
        if 0 < number <= len(self.script):
            at, dropped, added = self.script[number - 1]
            del self.rows[at : at + dropped]
            more = jobs(len(self.ever) + added, per_time=self.per_time)[len(self.ever) :]
            self.rows += more
            self.ever += [row["job_id"] for row in more]


@given(
    count=st.integers(0, 90),
    script=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 8), st.integers(0, 8)), max_size=12),
    per_time=st.sampled_from([1, 3, 7, 1000]),
    page_size=st.sampled_from([5, 20, 50]),
)
@settings(max_examples=300, deadline=None)
def test_whatever_moves_a_list_is_complete_or_fails(count: int, script: list[tuple[int, int, int]], per_time: int, page_size: int) -> None:
    pages = Moving(count, script, per_time)
    try:
        found = ids(Listing(JOBS, pages, page_size=page_size))
    except IntegrityError:
        assert any(dropped for _, dropped, _ in script)
        return
    assert len(found) == len(set(found))
    assert {row["job_id"] for row in pages.rows} <= set(found) <= set(pages.ever)
