"""The job list over each database: every order walked to its end and back, and counts that add up."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from benchloop_server.features.listing import service as listing
from benchloop_server.features.listing.query import FACETS, ORDERS, RANGES
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from tests.support import stores

ME = stores.principal()
_JOBS = 90


@pytest.fixture
def filled(services: Services) -> list[dict[str, Any]]:
    """Jobs with many equal and many missing values; the facts as they were pushed."""
    chance = random.Random(5)
    stores.make_group(services)
    rows = []
    for number in range(_JOBS):
        start = chance.choice([None, 10, 20, 30])
        facts: dict[str, Any] = {
            "task_id": f"t{chance.randrange(6)}%_",
            "status": chance.choice(["completed", "completed", "running"]),
            "step": chance.choice([None, 10, 20]),
            "model": chance.choice([None, "m1", "m,2", "ünï"]),
            "error_type": chance.choice([None, None, "Boom"]),
            "reward": chance.choice([None, 0.0, 0.5, 1.0, 1 / 3]),
            "cost_usd": chance.choice([None, 0.1, 0.2, 0.3]),
            "n_input_tokens": chance.choice([None, 5, 7]),
            "n_output_tokens": chance.choice([None, 1]),
            "started_at": None if start is None else f"2026-01-01T00:00:{start}Z",
            "finished_at": chance.choice([None, "2026-01-01T00:00:25Z", "2026-01-01T00:01:00Z"]),
        }
        rows.append(stores.job(f"j{number:03}", **facts))
    stores.put(services, *rows)
    return [{"job_id": row["job_id"], **row["facts"]} for row in rows]


@pytest.mark.parametrize("order", [f"{sign}{name}" for name in ORDERS for sign in ("", "-")])
def test_an_order_is_walked_forth_and_back(services: Services, filled: list[dict[str, Any]], order: str) -> None:
    query = listing.parse("g1", [("sort", order)])
    parts, cursor = [], None
    while True:
        found = listing.page(services, ME, query, limit=17, after=cursor)
        assert found.total == _JOBS
        parts.append([row.job_id for row in found.rows])
        cursor = found.after
        if cursor is None:
            break
    flat = [job_id for part in parts for job_id in part]
    assert len(flat) == len(set(flat)) == _JOBS
    before = found.before
    for part in reversed(parts[:-1]):
        found = listing.page(services, ME, query, limit=17, before=before)
        assert [row.job_id for row in found.rows] == part
        before = found.before
    assert before is None
    name = order.removeprefix("-")
    if name in filled[0]:
        values = {row["job_id"]: row[name] for row in filled}
        known = [values[job_id] for job_id in flat if values[job_id] is not None]
        assert [values[job_id] for job_id in flat][: len(known)] == known, "what has no value comes last"
        if name not in {"model", "task_id", "job_id"}:
            assert known == sorted(known, reverse=order.startswith("-"))


@pytest.mark.parametrize("name", FACETS)
def test_counts_of_a_filter_are_those_of_its_lists(services: Services, filled: list[dict[str, Any]], name: str) -> None:
    found = listing.facet(services, ME, listing.parse("g1", [("step", "10"), ("step", "")]), name)
    within = [row for row in filled if name == "step" or row["step"] in {10, None}]
    if name in filled[0]:
        assert dict(found.values) == Counter(row[name] for row in within)
    assert sum(number for _, number in found.values) == len(within)
    for value, number in found.values[:4]:
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        pairs = [(name, text)] if name == "step" else [("step", "10"), ("step", ""), (name, text)]
        assert listing.page(services, ME, listing.parse("g1", pairs), limit=1).total == number


@pytest.mark.parametrize("name", RANGES)
def test_bars_of_a_range_hold_every_number(services: Services, filled: list[dict[str, Any]], name: str) -> None:
    found = listing.spread(services, ME, listing.parse("g1", []), name)
    assert sum(number for *_, number in found.bars) == found.known and found.known + found.missing == _JOBS
    if found.low is not None and found.high is not None:
        assert found.bars[0][0] <= found.low and found.high <= found.bars[-1][1]


@pytest.mark.parametrize("field", ["q", "find"])
@pytest.mark.parametrize(("part", "fitting"), [("t1%_", True), ("T1%", True), ("t1__", False), ("%", True), ("\\", False)])
def test_a_part_is_taken_as_it_is(services: Services, filled: list[dict[str, Any]], field: str, part: str, fitting: bool) -> None:
    if field == "q":
        expected = sum(part.lower() in f"{row['job_id']}\n{row['task_id']}" for row in filled)
        assert listing.page(services, ME, listing.parse("g1", [("q", part)]), limit=1).total == expected
        assert bool(expected) is fitting
    else:
        assert bool(listing.facet(services, ME, listing.parse("g1", []), "task_id", part=part).values) is fitting


def test_neighbours_follow_the_filter(services: Services, filled: list[dict[str, Any]]) -> None:
    query = listing.parse("g1", [("sort", "-reward"), ("model", "m1")])
    order = [row.job_id for row in listing.page(services, ME, query, limit=_JOBS).rows]
    for before, job_id, after in zip([None, *order], order, [*order[1:], None], strict=False):
        found = listing.neighbours(services, ME, query, job_id)
        assert (found.before, found.after) == (before, after)
    outside = next(row["job_id"] for row in filled if row["model"] != "m1")
    assert listing.neighbours(services, ME, query, outside) == listing.Neighbours(before=None, after=None)


def test_what_is_another_workspaces_is_not_there(services: Services, filled: list[dict[str, Any]]) -> None:
    other = stores.principal("other")
    with pytest.raises(DomainError, match="does not exist"):
        listing.page(services, other, listing.parse("g1", []), limit=5)
    with pytest.raises(DomainError, match="does not exist"):
        listing.facet(services, other, listing.parse("g1", []), "model")
    assert listing.sizes(services, other, [row["job_id"] for row in filled]).gone == _JOBS


@pytest.mark.parametrize(
    "pairs",
    [
        ("sort", "meta_json"),
        ("outcome", "great"),
        ("step", "x"),
        ("reward_from", "x"),
        ("started_at_to", "noon"),
        ("reward_valid", "1"),
        ("reward_to", "nan"),
    ],
)
def test_what_cannot_be_asked_is_named(pairs: tuple[str, str]) -> None:
    with pytest.raises(DomainError, match=pairs[0].split("_from")[0].split("_to")[0]):
        listing.parse("g1", [pairs])


@pytest.mark.parametrize("cursor", ["x", "WyJjcmVhdGVkX2F0IiwxLDFd" + "A", "e30", "WyItcmV3YXJkIiwxLDFd"])
def test_a_foreign_place_is_refused(services: Services, filled: list[dict[str, Any]], cursor: str) -> None:
    with pytest.raises(DomainError, match="cursor"):
        listing.page(services, ME, listing.parse("g1", []), limit=5, after=cursor)
