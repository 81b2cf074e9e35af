"""Filters with several values, deleted groups, wishes and space given back, on each database, also while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from benchloop_client.contract.analysis import BehaviorTaskCreate
from benchloop_client.contract.resources import Content, DownloadTaskCreate, JobsUpsert, UploadsCheck
from benchloop_client.contract.workspace import GroupPatch
from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.features.downloads import service as downloads
from benchloop_server.features.groups import editing
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import push, repository
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.jobs.filters import JobFilter
from benchloop_server.features.jobs.service import Window
from benchloop_server.features.reclaim import service as reclaim
from benchloop_server.features.reports import service as reports
from benchloop_server.features.uploads import service as intake
from benchloop_server.features.uploads.service import Intake, SingleIntake, claim_of
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from benchloop_server.sql.tables import analysis_requests, behaviour_tasks, uploads
from benchloop_server.sql.tables import jobs as job_rows
from tests.support.pushing import archive, sha
from tests.support.stores import job, make_group, principal, put

ANN = principal()


def found(services: Services, **wanted: Any) -> list[str]:
    """The ids of the jobs that fit, by both ways of asking."""
    page = jobs.page(services, ANN, JobFilter(group_id="g1", **wanted), part=Window(limit=100))
    assert page.total == len(page.jobs)
    return [each.job_id for each in page.jobs]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"status": "passed,errored"}, "pe"),
        ({"status": " running , pending,"}, "rq"),
        ({"outcome": "passed,failed"}, "pf"),
        ({"status": "passed,failed", "outcome": "passed,failed"}, "pf"),
        ({"status": "completed,running", "outcome": "passed"}, "p"),
        ({"step": "0,10"}, "pf"),
        ({"step": 10}, "f"),
        ({"step": "7"}, ""),
        ({"model": "m1,m2"}, "pf"),
        ({"agent": "a, with comma"}, "r"),
        ({"error_type": "Timeout,OOM"}, "eq"),
        ({"task_id": "task,other"}, "f"),
        ({"fail_reason": "bad tool,lost"}, "p"),
        ({"fail_reason": "lost"}, ""),
        ({"fail_reason": ""}, "pferq"),
    ],
)
def test_several_values_fit_one_of_them(services: Services, wanted: dict[str, Any], expected: str) -> None:
    make_group(services)
    put(services, job("p", reward=1.0, step=0, model="m1"), job("f", reward=0.0, step=10, model="m2", task_id="task,other"))
    put(services, job("e", error_type="Timeout"), job("r", status="running", agent="a, with comma"))
    put(services, job("q", status="pending", error_type="OOM"))
    with services.db.write() as connection:
        connection.execute(job_rows.update().where(job_rows.c.job_id == "p").values(fail_reason="bad tool"))
    assert found(services, **wanted) == list(expected)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"status": "running,passed"}, "mixes"),
        ({"status": "passed", "outcome": "failed"}, "exclude each other"),
        ({"status": "passed,done"}, "'done' is none of"),
        ({"outcome": ","}, "`outcome` ',' is none of"),
        ({"step": "1,two"}, "is no training step"),
        ({"step": "-1"}, "is no training step"),
        ({"step": "9" * 30}, "is no training step"),
    ],
)
def test_filters_that_cannot_be_say_why(services: Services, wanted: dict[str, Any], words: str) -> None:
    make_group(services)
    with pytest.raises(DomainError, match=words) as caught:
        found(services, **wanted)
    assert caught.value.code.value == "bad_request"


def test_download_tasks_take_the_same_filters(services: Services) -> None:
    make_group(services)
    put(services, job("a", step=1), job("b", step=2), job("c", step=3))
    task = downloads.create(services, ANN, DownloadTaskCreate(group_id="g1", step="1,3"))
    assert (task.job_ids, task.filters) == (["a", "c"], {"group_id": "g1", "step": "1,3"})
    assert downloads.create(services, ANN, DownloadTaskCreate(group_id="g1", step=2)).job_ids == ["b"]


def send(services: Services, data: bytes, kind: str = "archive") -> Content:
    """Upload; what a job says to name it."""
    taking = Intake(services, ANN)
    single = SingleIntake(taking, claim_of(services, kind, sha(data), encoding=None, length=len(data)))
    single.feed(data)
    single.finish()
    taking.close()
    return Content(sha256=sha(data), size=len(data))


def with_archive(services: Services, job_id: str, data: bytes) -> dict[str, Any]:
    """A job whose archive was sent."""
    content = send(services, data)
    return job(job_id, archive={"sha256": content.sha256, "size": content.size})


def test_what_is_shared_stays_and_what_is_not_goes(services: Services) -> None:
    shared, own = archive({"a": b"shared"}), archive({"a": b"own"})
    for group, files in (("g1", [shared, own]), ("g2", [shared])):
        make_group(services, group)
        put(services, *(with_archive(services, f"{group}-{n}", data) for n, data in enumerate(files)), group_id=group)
    assert editing.delete(services, ANN, "g1").jobs == 2
    done = reclaim.collect(services, grace_hours=0)
    assert (done.uploads, done.waiting, done.blobs) == (1, 0, 1)
    asked = UploadsCheck(kind="archive", sha256=[sha(shared), sha(own)])
    assert intake.check(services, ANN, asked).missing == [sha(own)]
    with services.db.read() as connection:
        row = connection.execute(select(uploads)).one()
    assert row.unused_since is None and services.blobs.exists(row.blob) and services.blobs.exists(row.index_blob)


def test_an_edit_leaves_the_rest(services: Services) -> None:
    make_group(services, model="m")
    editing.patch(services, ANN, "g1", changes=GroupPatch(note="n", tags=["b", "a"]))
    make_group(services, model="m2")
    group = groups.get(services, ANN, "g1")
    assert (group.name, group.model, group.note, group.tags) == ("g1", "m2", "n", ["b", "a"])


def together(*works: Callable[[], object]) -> list[Exception]:
    """Run all at once; what they raised."""
    failures: list[Exception] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a thread hands its failure over
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return failures


def test_equal_wishes_at_once_are_one_row(services: Services) -> None:
    make_group(services)
    put(services, job("a", step=1))

    def wish() -> None:
        reports.want_of_job(services, ANN, "a", kind="rsi")
        reports.want_of_group(services, ANN, "g1", kind="report", include_passed=True)
        behaviour.create(services, ANN, BehaviorTaskCreate(group_id="g1", steps=[1]))

    assert together(*[wish] * 6) == []
    with services.db.read() as connection:
        assert len(connection.execute(select(analysis_requests)).all()) == 2
        assert len(connection.execute(select(behaviour_tasks)).all()) == 1


def test_a_group_deleted_while_others_write_into_it_leaves_nothing_half(services: Services) -> None:
    for number in range(6):
        make_group(services)
        put(services, job("a", step=1))
        batch = JobsUpsert(jobs=[_upsert(f"n{number}-{each}") for each in range(20)])
        failures = together(
            lambda batch=batch: push.put(services, ANN, "g1", batch=batch),  # type: ignore[misc]
            lambda: editing.delete(services, ANN, "g1"),
            lambda: reports.want_of_group(services, ANN, "g1", kind="report", include_passed=False),
            lambda: downloads.create(services, ANN, DownloadTaskCreate(group_id="g1")),
        )
        assert all(isinstance(error, DomainError) and error.code.value == "not_found" for error in failures), failures
        assert not groups_exist(services)


def test_space_is_given_back_while_others_push(services: Services) -> None:
    make_group(services)
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            reclaim.collect(services, grace_hours=0)

    def write(name: str) -> None:
        for number in range(12):
            data = archive({"a": b"%d" % (number % 3)})
            for _ in range(50):
                try:
                    put(services, with_archive(services, f"{name}-{number}", data))
                    break
                except DomainError as error:
                    if error.code.value not in {"conflict", "unavailable"}:
                        raise

    collecting = threading.Thread(target=collect)
    collecting.start()
    failures = together(lambda: write("x"), lambda: write("y"))
    stop.set()
    collecting.join(60)
    assert failures == []
    _assert_whole(services, jobs_wanted=24)


def test_gc_waits_for_a_push_that_is_about_to_commit(services: Services) -> None:
    make_group(services)
    put(services, job("a"))
    content = send(services, archive({"a": b"b"}))
    collecting = threading.Thread(target=lambda: reclaim.collect(services, grace_hours=0))
    with services.db.write() as connection:
        repository.take_times(connection, 1, now=0)
        collecting.start()
        collecting.join(0.5)
        assert collecting.is_alive()
        connection.execute(job_rows.update().values(archive_sha256=content.sha256))
    collecting.join(60)
    _assert_whole(services, jobs_wanted=1)


def _assert_whole(services: Services, *, jobs_wanted: int) -> None:
    with services.db.read() as connection:
        named = set(connection.execute(select(job_rows.c.archive_sha256)).scalars())
        rows = {row.sha256: row for row in connection.execute(select(uploads))}
        count = len(connection.execute(select(job_rows.c.job_id)).all())
    assert count == jobs_wanted
    assert named <= rows.keys()
    assert all(services.blobs.exists(row.blob) and services.blobs.exists(row.index_blob) for row in rows.values())


def groups_exist(services: Services) -> bool:
    """Whether anything of group g1 is left to read."""
    with services.db.read() as connection:
        return groups.exists(connection, ANN, "g1") or bool(connection.execute(select(job_rows)).first())


def _upsert(job_id: str) -> Any:
    import msgspec

    from benchloop_client.contract.resources import JobUpsert

    return msgspec.convert(job(job_id), JobUpsert)
