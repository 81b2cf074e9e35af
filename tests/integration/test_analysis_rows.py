"""The analysis over each database: verdicts are kept once and on present content, workers that are killed are followed by others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from benchloop_client.contract.analysis import BehaviorTaskCreate
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.repository import NewVerdict
from benchloop_server.features.behaviour import service as behaviour
from benchloop_server.features.groups import editing
from benchloop_server.features.jobs import service as jobs_service
from benchloop_server.features.reports import service as reports
from benchloop_server.kit.services import Services
from benchloop_server.sql import migrate, work
from benchloop_server.sql.tables import group_reports, jobs, verdict_texts, verdicts
from tests.conftest import ROOT
from tests.support.analysing import work_off
from tests.support.stores import job, make_group, principal, put

JOBS = 900
ANN = principal()

pytestmark = pytest.mark.timeout(300)


def _push(services: Services, job_ids: list[str], **facts: object) -> None:
    """Jobs without contents in group `g1`."""
    make_group(services)
    for at in range(0, len(job_ids), 300):
        put(services, *(job(name, **{"task_id": name, "reward": 0.0, **facts}) for name in job_ids[at : at + 300]))


def _count(services: Services, table: object) -> int:
    with services.db.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()  # type: ignore[arg-type]


def test_every_job_has_its_verdict_and_the_group_its_report(services: Services) -> None:
    names = [f"j{number:04}" for number in range(450)]
    _push(services, names, error_type="AgentTimeoutError", reward=None)
    assert reports.group_report(services, ANN, "g1").status == "queued"
    work_off(services)
    assert _count(services, verdicts) == _count(services, verdict_texts) == len(names)
    found = reports.group_report(services, ANN, "g1")
    assert (found.status, found.report and found.report["analysed"]) == ("succeeded", len(names))
    with services.db.read() as connection:
        reasons = set(connection.execute(select(jobs.c.fail_reason)).scalars())
    assert reasons == {"limit_exhausted"}


def test_a_verdict_on_other_content_is_left_out(services: Services) -> None:
    _push(services, ["a", "b"])
    with services.db.read() as connection:
        prints = dict(connection.execute(select(jobs.c.job_id, jobs.c.fingerprint)).all())  # type: ignore[arg-type]
    said = {"context": "", "fail_reason": "x", "outcome": "failed", "kept": b"k", "shown": b"s"}
    found = [
        NewVerdict(job_id="a", fingerprint=prints["a"], **said),
        NewVerdict(job_id="b", fingerprint="0" * 64, **said),
        NewVerdict(job_id="gone", fingerprint=prints["a"], **said),
    ]
    for _ in range(2):
        with services.db.write() as connection:
            assert repository.keep(connection, "default", found, rules_digest="r", now=1) == 1
    with services.db.read() as connection:
        assert connection.execute(select(jobs.c.job_id).where(jobs.c.fail_reason == "x")).scalars().all() == ["a"]


def test_a_job_that_a_push_holds_is_left_for_later(services: Services) -> None:
    """On PostgreSQL the worker waits for no push, which may be waiting for the worker."""
    if services.db.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    _push(services, ["a", "b"])
    with services.db.read() as connection:
        prints = dict(connection.execute(select(jobs.c.job_id, jobs.c.fingerprint)).all())  # type: ignore[arg-type]
    found = [NewVerdict(job_id=name, fingerprint=prints[name], context="", kept=b"k", shown=b"s") for name in ("a", "b")]
    with services.db.write() as pushing:
        pushing.execute(select(jobs).where(jobs.c.job_id == "a").with_for_update()).all()
        with services.db.write() as connection:
            assert repository.keep(connection, "default", found, rules_digest="r", now=1) == 1


def test_pushes_deletions_and_workers_at_the_same_time(services: Services) -> None:
    """Nobody waits for somebody who waits for him, and what is there in the end is judged."""
    names = [f"j{number:03}" for number in range(120)]
    _push(services, names)
    errors: list[Exception] = []
    ending = threading.Event()

    def attempt(action: object) -> None:
        try:
            action()  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 - a thread hands its failure over
            errors.append(error)

    def pushing() -> None:
        for round_number in range(8):
            _push(services, names, reward=round_number / 10)
        editing.delete(services, ANN, "g1")
        _push(services, names[:50], reward=0.95)

    def working(name: str) -> None:
        while not ending.is_set():
            work_off(services, name=name)

    workers = [threading.Thread(target=attempt, args=(lambda name=f"w{number}": working(name),)) for number in range(2)]
    pusher = threading.Thread(target=attempt, args=(pushing,))
    for thread in (*workers, pusher):
        thread.start()
    pusher.join(120)
    ending.set()
    for thread in workers:
        thread.join(60)
    assert not pusher.is_alive() and errors == []
    work_off(services)
    with services.db.read() as connection:
        assert not repository.has_to_do(connection, "default", "g1")
    assert _count(services, verdicts) == 50
    assert reports.group_report(services, ANN, "g1").status == "succeeded"


def test_a_deleted_group_takes_its_verdicts_along(services: Services) -> None:
    _push(services, ["a", "b"])
    work_off(services)
    editing.delete(services, ANN, "g1")
    assert [_count(services, table) for table in (verdicts, verdict_texts, group_reports)] == [0, 0, 0]


# ---- workers that are killed --------------------------------------------------------------------------------------------------------


@pytest.fixture
def workers(services: Services, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Worker processes; all of them end with the test."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.kill()
        process.wait(20)


def _worker(services: Services, name: str) -> subprocess.Popen[bytes]:
    url = services.db.engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "tests.support.analysing", url, str(services.scratch), name]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)


def test_a_killed_worker_loses_and_repeats_nothing_that_was_kept(services: Services, workers: list[subprocess.Popen[bytes]]) -> None:
    """SIGKILL in the middle: what was kept stays as it is, the rest is judged by another worker."""
    _push(services, [f"j{number:04}" for number in range(JOBS)])
    workers.append(_worker(services, "w1"))
    until = time.monotonic() + 90
    while not (kept := _judged(services)):
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(workers[0].pid, signal.SIGKILL)
    workers[0].wait(20)
    kept = _judged(services)
    assert 0 < len(kept) < JOBS, "it was killed in the middle"
    workers.append(_worker(services, "w2"))
    until = time.monotonic() + 120
    while reports.group_report(services, ANN, "g1").status != "succeeded":
        assert time.monotonic() < until, reports.group_report(services, ANN, "g1").status
        time.sleep(0.1)
    after = _judged(services)
    assert len(after) == JOBS
    assert {name: after[name] for name in kept} == kept, "what was kept is not judged again"
    with services.db.read() as connection:
        assert jobs_service.find(connection, ANN, "j0000").outcome == "failed"


def _judged(services: Services) -> dict[str, int]:
    with services.db.read() as connection:
        return dict(connection.execute(select(verdicts.c.job_id, verdicts.c.judged_at)).all())  # type: ignore[arg-type]


# ---- an older server's data ---------------------------------------------------------------------------------------------------------


#: What came after schema 0003, in the order in which it can be taken away.
_LATER_TABLES = (
    *("sessions", "judge_answers", "judge_spending", "behaviour_parts", "job_features"),
    *("verdict_texts", "verdicts", "group_reports"),
)
_LATER_COLUMNS = (
    ("keys", "last_used_at"),
    ("behaviour_tasks", "error"),
    ("behaviour_tasks", "ended_at"),
    ("jobs", "reward_valid_recorded"),
)


def test_what_an_older_server_holds_is_analysed_after_the_upgrade(services: Services) -> None:
    """The schema as it was before the analysis, with a group and a wish in it, brought up to date."""
    _push(services, ["a"], reward_valid=True)
    asked = behaviour.create(services, ANN, BehaviorTaskCreate(group_id="g1")).uid
    with services.db.write() as connection:
        for table in _LATER_TABLES:
            connection.execute(text(f"DROP TABLE {table}"))
        for table, column in _LATER_COLUMNS:
            connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        connection.execute(text("DROP INDEX IF EXISTS ix_jobs_listed"))
        connection.execute(text("DELETE FROM work"))
        connection.execute(text("DELETE FROM counters WHERE name = 'observed_by'"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0003'"))
    migrate.upgrade(services.db)
    assert reports.group_report(services, ANN, "g1").status == "queued"
    work_off(services)
    assert reports.job_report(services, ANN, "a").status == "succeeded"
    with services.db.read() as connection:
        assert jobs_service.find(connection, ANN, "a").reward_valid_recorded is True
        assert work.standing(connection, "default", "analyse", keys=["g1"])["g1"].state == "done"
    assert behaviour.get(services, ANN, asked).error == "there is no job to look at: 1 have no trajectory"
