"""The work of observing what jobs did, where the analysis of a push has not done so: by a newer catalogue, or on an older server's data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from benchloop_analysis.behaviours import CATALOGUE_VERSION
from benchloop_server.features.analysis import repository
from benchloop_server.features.analysis.asked import Asked, Task
from benchloop_server.features.analysis.attempts import Attempts
from benchloop_server.features.analysis.handing import Errand, answered, observation_of
from benchloop_server.features.analysis.judging import OBSERVE
from benchloop_server.features.analysis.rows import asked_of
from benchloop_server.features.analysis.work import in_batches
from benchloop_server.kit.db import Connection
from benchloop_server.kit.services import Services
from benchloop_server.kit.work import Handler, Run
from benchloop_server.sql import observations
from benchloop_server.sql.observations import Observation

_PAGE = 1_000
_NO_OTHERS = Attempts((), ())
_ERRAND = Errand(OBSERVE, lambda jobs: msgspec.msgpack.encode(Task(rules=(), jobs=jobs)))


def observe_group(services: Services, run: Run) -> None:
    """Observe those jobs of the group that is the key of the work that have to be. Done twice it finds nothing to do."""
    with services.db.read() as connection:
        total = observations.count_unobserved(connection, run.item.workspace_id, run.item.key, version=CATALOGUE_VERSION)
    done = 0
    for seen in observe_jobs(services, run, _unobserved(services, run)):
        done += seen
        run.progress(min(done, total), max(done, total))


def observe_jobs(services: Services, run: Run, job_ids: Iterable[str]) -> Iterator[int]:
    """Observe these jobs; yields how many, whenever some are kept. Those that are gone or change meanwhile are left out."""
    for seen in in_batches(_observed(services, run, job_ids)):
        run.commit(partial(_keep, services, run, seen=[one for one in seen if one is not None]))
        yield len(seen)


def _keep(services: Services, run: Run, connection: Connection, *, seen: list[Observation]) -> int:
    return observations.keep(connection, run.item.workspace_id, seen, now=services.clock())


def _observed(services: Services, run: Run, job_ids: Iterable[str]) -> Iterator[Observation | None]:
    for asked, judged in answered(services, run, _ERRAND, _asked(services, run, job_ids)):
        yield observation_of(asked, judged)


def _asked(services: Services, run: Run, job_ids: Iterable[str]) -> Iterator[Asked]:
    for ids in in_batches(job_ids):
        with services.db.read() as connection:
            rows = repository.by_ids(connection, run.item.workspace_id, ids)
        by_id = {row.job_id: row for row in rows}
        yield from (asked_of(by_id[job_id], "", _NO_OTHERS) for job_id in ids if job_id in by_id)


def _unobserved(services: Services, run: Run) -> Iterator[str]:
    after: tuple[str, str] | None = None
    while True:
        with services.db.read() as connection:
            rows = observations.unobserved(
                connection, run.item.workspace_id, run.item.key, version=CATALOGUE_VERSION, after=after, limit=_PAGE
            )
        if not rows:
            return
        yield from (row.job_id for row in rows)
        after = rows[-1].task_id, rows[-1].job_id


HANDLER = Handler(observe_group)
