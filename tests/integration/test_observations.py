"""What jobs did, over each database: kept with the content it was seen in, made anew by another catalogue, gone with its job."""

from __future__ import annotations

import dataclasses
from zlib import crc32

import pytest
from sqlalchemy import delete, func, insert, select, update

from benchloop_analysis.behaviours import CATALOGUE_VERSION
from benchloop_client.contract.analysis import BehaviorTaskCreate
from benchloop_client.contract.compression import frame
from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.features.groups import editing
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.services import Services
from benchloop_server.sql import observations, work
from benchloop_server.sql.observations import Observation
from benchloop_server.sql.tables import behaviour_parts, behaviour_tasks, counters, job_features, jobs
from benchloop_server.sql.tables import work as table
from tests.support.analysing import work_off
from tests.support.stores import job, make_group, principal, put

ANN = principal()


def _prints(services: Services) -> dict[str, str]:
    with services.db.read() as connection:
        return dict(connection.execute(select(jobs.c.job_id, jobs.c.fingerprint)).all())  # type: ignore[arg-type]


def _seen(services: Services) -> dict[str, str]:
    with services.db.read() as connection:
        return dict(connection.execute(select(job_features.c.job_id, job_features.c.catalogue_version)).all())  # type: ignore[arg-type]


def test_only_what_a_job_still_holds_is_kept(services: Services) -> None:
    make_group(services)
    put(services, job("a"), job("b"))
    prints = _prints(services)
    found = [
        Observation(job_id="a", fingerprint=prints["a"], version="1", features=b"x"),
        Observation(job_id="b", fingerprint="0" * 64, version="1", features=b"x"),
        Observation(job_id="gone", fingerprint=prints["a"], version="1", features=b"x"),
    ]
    for version in ("1", "2"):
        with services.db.write() as connection:
            kept = observations.keep(connection, "default", [dataclasses.replace(one, version=version) for one in found], now=1)
        assert (kept, _seen(services)) == (1, {"a": version})
    with services.db.read() as connection:
        assert observations.of_jobs(connection, "default", ["a", "b"], version="1") == {}
        assert observations.of_jobs(connection, "default", ["a", "b"], version="2")["a"].features == b"x"
        assert observations.known(connection, "other", ["a"], version="2") == {}
    with services.db.write() as connection:
        connection.execute(delete(jobs))
    assert _seen(services) == {}


def test_another_program_has_every_group_looked_through_once(services: Services) -> None:
    make_group(services)
    make_group(services, "g2")
    before = crc32(b"0.9")
    for expected in (2, 0):
        with services.db.write() as connection:
            assert observations.wish_after_upgrade(connection, program=before, now=1) == expected
    with services.db.read() as connection:
        rows = connection.execute(select(table.c.key, table.c.rank).where(table.c.kind == observations.KIND)).all()
        assert sorted(map(tuple, rows)) == [("g1", 20), ("g2", 20)]
        assert connection.execute(select(counters.c.value).where(counters.c.name == "observed_by")).scalar_one() == before
    work_off(services)
    with services.db.read() as connection:
        states = work.standing(connection, "default", observations.KIND, keys=["g1", "g2"])
    assert {each.state for each in states.values()} == {"done"}


def test_jobs_of_another_catalogue_are_to_be_observed(services: Services) -> None:
    make_group(services)
    put(services, job("a"), job("b", task_id="other"), job("bare"))
    with services.db.write() as connection:
        connection.execute(update(jobs).where(jobs.c.job_id != "bare").values(trajectory_sha256="0" * 64))
    prints = _prints(services)
    with services.db.write() as connection:
        one = Observation(job_id="a", fingerprint=prints["a"], version=CATALOGUE_VERSION, features=b"x")
        observations.keep(connection, "default", [one], now=1)
    with services.db.read() as connection:
        for version, expected in ((CATALOGUE_VERSION, ["b"]), ("next", ["b", "a"])):
            rows = observations.unobserved(connection, "default", "g1", version=version, after=None, limit=9)
            assert [row.job_id for row in rows] == expected
            assert observations.count_unobserved(connection, "default", "g1", version=version) == len(expected)
        after = observations.unobserved(connection, "default", "g1", version="next", after=("other", "b"), limit=9)
        assert [row.job_id for row in after] == ["a"]


@pytest.fixture
def asked(services: Services) -> str:
    """A task about a group with a job that was observed."""
    make_group(services)
    put(services, job("a", reward=1.0))
    return behaviour.create(services, ANN, BehaviorTaskCreate(group_id="g1")).uid


def test_a_group_that_is_deleted_takes_work_and_parts_along(services: Services, asked: str) -> None:
    with services.db.write() as connection:
        values = {"workspace_id": "default", "uid": asked, "name": "sample", "data": frame(b"{}")}
        connection.execute(insert(behaviour_parts).values(values))
    editing.delete(services, ANN, "g1")
    with services.db.read() as connection:
        for one in (behaviour_tasks, behaviour_parts):
            assert connection.execute(select(func.count()).select_from(one)).scalar_one() == 0
        assert work.standing(connection, "default", behaviour.KIND, keys=[asked]) == {}
    assert work_off(services) == 0


def test_tasks_of_others_cannot_be_cancelled(services: Services, asked: str) -> None:
    with pytest.raises(DomainError):
        behaviour.cancel(services, principal("other"), asked)
    assert behaviour.get(services, ANN, asked).status == "queued"
    assert behaviour.cancel(services, ANN, asked) == behaviour.cancel(services, ANN, asked)
    with services.db.read() as connection:
        assert work.standing(connection, "default", behaviour.KIND, keys=[asked])[asked].state == "cancelled"


def test_a_task_that_cannot_be_done_says_why_and_may_be_asked_for_again(services: Services, asked: str) -> None:
    work_off(services)
    task = behaviour.get(services, ANN, asked)
    assert (task.status, task.error) == ("failed", "there is no job to look at: 1 have no trajectory")
    assert behaviour.create(services, ANN, BehaviorTaskCreate(group_id="g1")).uid != asked
