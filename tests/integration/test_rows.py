"""Groups, jobs and numbers over each database: what is committed, what is seen, and in which order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from benchloop_client.contract.errors import Code
from benchloop_client.contract.resources import DownloadTaskCreate, Job, JobsCheck
from benchloop_server.features.downloads import service as downloads
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import push
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.metrics import service as metrics
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from tests.support.stores import job, make_group, principal, put

ANN, BOB = principal(), principal("other")


def listed(services: Services, *, limit: int = 1000, **wanted: Any) -> list[Job]:
    """Every job that fits, read page by page with the cursor."""
    found: list[Job] = []
    cursor = None
    while True:
        page = jobs.page(services, ANN, JobFilter(**{"group_id": "g1", **wanted}), part=Window(limit=limit, cursor=cursor))
        found += page.jobs
        cursor = page.next_cursor
        if cursor is None:
            assert page.total >= len(page.jobs)
            return found


def refusal(services: Services, *pushed: dict[str, Any], **options: Any) -> DomainError:
    """The error with which a push is refused."""
    with pytest.raises(DomainError) as caught:
        put(services, *pushed, **options)
    return caught.value


def test_a_push_is_new_then_unchanged_then_updated(services: Services) -> None:
    make_group(services)
    assert put(services, job("a", reward=1.0), job("b", reward=0.0)) == ["new", "new"]
    assert put(services, job("b", reward=0.0), job("a", reward=1.0)) == ["unchanged", "unchanged"]
    before = {each.job_id: each for each in listed(services)}
    assert put(services, job("a", reward=0.5), job("c")) == ["updated", "new"]
    after = {each.job_id: each for each in listed(services)}
    assert after["b"] == before["b"]
    assert (after["a"].outcome, after["a"].created_at) == ("partial", before["a"].created_at)
    assert after["a"].updated_at > before["a"].updated_at
    assert list(after) == ["a", "b", "c"]


def test_check_says_what_a_push_would_do_and_does_nothing(services: Services) -> None:
    make_group(services)
    put(services, job("a", reward=1.0))
    asked = [{"job_id": each["job_id"], "fingerprint": each["fingerprint"]} for each in (job("a", reward=1.0), job("b"))]
    asked.append({"job_id": "c", "fingerprint": "0" * 64})
    answer = push.check(services, ANN, "g1", asked=_convert(asked))
    assert [result.state for result in answer.results] == ["unchanged", "new", "new"]
    assert [each.job_id for each in listed(services)] == ["a"]


def test_a_batch_with_one_bad_job_changes_nothing(services: Services) -> None:
    make_group(services)
    put(services, job("a", reward=1.0))
    error = refusal(services, job("a", reward=0.0), job("b", started_at="yesterday"), job("c"))
    assert error.code is Code.UNPROCESSABLE
    assert "job 'b': `started_at`: 'yesterday'" in error.message
    assert [(each.job_id, each.reward) for each in listed(services)] == [("a", 1.0)]


@pytest.mark.parametrize("kind", ["trajectory", "archive"])
def test_content_that_was_not_sent_is_a_conflict_that_names_it(services: Services, kind: str) -> None:
    make_group(services)
    error = refusal(services, job("a", **{kind: {"sha256": "ab" * 32, "size": 1}}))
    assert error.code is Code.CONFLICT
    assert f"its {kind} {'ab' * 32} was not uploaded" in error.message


def test_a_job_stays_in_its_group(services: Services) -> None:
    make_group(services)
    make_group(services, "g2")
    put(services, job("a"))
    error = refusal(services, job("a", reward=1.0), group_id="g2")
    assert (error.code, "belongs to group 'g1'" in error.message) == (Code.CONFLICT, True)


def test_another_workspace_sees_nothing_and_may_use_the_same_ids(services: Services) -> None:
    make_group(services)
    put(services, job("a"))
    for look in (
        lambda: groups.get(services, BOB, "g1"),
        lambda: jobs.get(services, BOB, "a"),
        lambda: jobs.meta(services, BOB, "a"),
        lambda: jobs.group_ids(services, BOB, "g1"),
        lambda: metrics.eval_summary(services, BOB, "g1"),
        lambda: metrics.job_metrics(services, BOB, "a"),
        lambda: push.check(services, BOB, "g1", asked=JobsCheck(jobs=[])),
        lambda: downloads.create(services, BOB, DownloadTaskCreate(group_id="g1")),
    ):
        with pytest.raises(DomainError) as caught:
            look()
        assert caught.value.code is Code.NOT_FOUND
    assert jobs.page(services, BOB, JobFilter(), part=Window(limit=10)).total == 0
    make_group(services, workspace="other")
    assert put(services, job("a", reward=1.0), workspace="other") == ["new"]
    assert listed(services)[0].reward is None


def test_attempts_are_numbered_by_start_time_in_each_task_and_step(services: Services) -> None:
    make_group(services)
    at = "2026-01-01T00:00:0{}Z".format
    put(services, job("late", started_at=at(5)), job("none"), job("other", task_id="t2"), job("stepped", step=7, started_at=at(1)))
    put(services, job("early", started_at=at(1)))
    assert {each.job_id: each.attempt for each in listed(services)} == {"early": 1, "late": 2, "none": 3, "other": 1, "stepped": 1}
    put(services, job("early", task_id="t2", started_at=at(1)))
    assert {each.job_id: each.attempt for each in listed(services)} == {"early": 1, "late": 1, "none": 2, "other": 2, "stepped": 1}


def test_pages_by_offset_and_by_cursor_are_the_same_list(services: Services) -> None:
    make_group(services)
    put(services, *(job(f"j{number:03}", reward=number % 2) for number in range(25)))
    by_cursor = [each.job_id for each in listed(services, limit=4)]
    assert by_cursor == [f"j{number:03}" for number in range(25)]
    pages = [jobs.page(services, ANN, JobFilter(group_id="g1"), part=Window(limit=4, skip=skip)) for skip in range(0, 28, 4)]
    assert [each.job_id for page in pages for each in page.jobs] == by_cursor
    assert [page.next_cursor is None for page in pages] == [False] * 6 + [True]
    assert {page.total for page in pages} == {25}
    assert [each.job_id for each in listed(services, limit=3, outcome="passed")] == by_cursor[1::2]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"status": "running"}, ["r"]),
        ({"status": "errored"}, ["e"]),
        ({"outcome": "passed"}, ["p"]),
        ({"error_type": "Timeout"}, ["e"]),
        ({"reward_valid": False}, ["b"]),
        ({"reward_valid": True}, ["p"]),
        ({"step": 0}, ["p"]),
        ({"model": "m", "agent": ""}, ["p"]),
        ({"task_id": "tä/sk"}, ["r"]),
        ({"instance_id": "nothing"}, []),
    ],
)
def test_filters(services: Services, wanted: dict[str, Any], expected: list[str]) -> None:
    make_group(services)
    put(services, job("p", reward=1.0, reward_valid=True, step=0, model="m"), job("e", error_type="Timeout"))
    put(services, job("b", reward=1.0, reward_valid=False), job("r", status="running", task_id="tä/sk"))
    assert [each.job_id for each in listed(services, **wanted)] == expected


def test_creation_times_are_strictly_increasing_whoever_writes(services: Services) -> None:
    make_group(services)
    failures: list[Exception] = []

    def write(name: int) -> None:
        try:
            for number in range(6):
                put(services, *(job(f"w{name}-{number}-{each}", task_id=f"t{name}") for each in range(5)))
        except Exception as error:  # noqa: BLE001 - a thread hands its failure over
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    seen = _follow(services, threads)
    assert failures == []
    times = [each.created_at for each in listed(services, limit=17)]
    assert len(times) == 120
    assert times == sorted(set(times))
    assert seen == [each.job_id for each in listed(services)]


def test_a_frozen_task_does_not_change(services: Services) -> None:
    make_group(services)
    put(services, job("a", reward=1.0), job("b", reward=0.0))
    made = downloads.create(services, ANN, DownloadTaskCreate(group_id="g1", outcome="passed"))
    put(services, job("c", reward=1.0), job("a", reward=0.0))
    again = downloads.get(services, ANN, made.task_id)
    assert again == made
    assert (again.total, again.job_ids, again.filters) == (1, ["a"], {"group_id": "g1", "outcome": "passed"})
    with pytest.raises(DomainError, match="no job of group 'g1' fits"):
        downloads.create(services, ANN, DownloadTaskCreate(group_id="g1", outcome="errored"))


def _convert(asked: list[dict[str, Any]]) -> JobsCheck:
    import msgspec

    return msgspec.convert({"jobs": asked}, JobsCheck)


def _follow(services: Services, threads: list[threading.Thread]) -> list[str]:
    """Read on from the last job seen until the writers are done and nothing follows: a row that became visible late would be missed."""
    from benchloop_server.kit import cursors

    seen: list[str] = []
    place: str | None = None
    while True:
        alive = any(thread.is_alive() for thread in threads)
        with services.db.read() as connection:
            rows = jobs.window(connection, ANN, JobFilter(group_id="g1"), window=Window(limit=7, cursor=place)).rows
        if rows:
            place = cursors.pack(rows[-1].created_at, rows[-1].job_id)
            seen += [row.job_id for row in rows]
        elif not alive:
            return seen
