"""Whether the server can do its work (database with the right schema, blob store that takes and gives bytes), and how it is doing."""

from __future__ import annotations

import hashlib

from benchloop_client.contract.errors import Code
from benchloop_client.contract.status import QueueDepth, ServerStatus, StorageStatus, WorkerStatus
from benchloop_client.contract.version import FEATURES, __version__
from benchloop_server.features.about import repository
from benchloop_server.kit.clock import format_time
from benchloop_server.kit.errors import DomainError
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services
from benchloop_server.sql import claims, migrate, work
from benchloop_server.sql.claims import Worker

_PROBE = b"benchloop-server: the blob store can be written and read\n"


_MICROS = 1_000_000


def features(services: Services) -> list[str]:
    """What this server offers beyond the documented routes, by its settings."""
    return sorted([*FEATURES, *(["links"] if services.upkeep.links else [])])


def status(services: Services, principal: Principal) -> ServerStatus:
    """How the server is doing, as the caller's workspace sees it."""
    now = services.clock()
    with services.db.read() as connection:
        depths = work.depths(connection, principal.workspace_id)
        workers = claims.all_workers(connection)
        kept = repository.kept(connection, principal)
    database = "sqlite" if services.db.is_sqlite else "postgresql"
    counts = {"groups": kept.groups, "jobs": kept.jobs, "uploads": kept.uploads, "stored_bytes": kept.stored_bytes}
    return ServerStatus(
        server="benchloop-server",
        version=__version__,
        schema=migrate.head(),
        time=format_time(now),
        queue={kind: QueueDepth(**states) for kind, states in depths.items()},
        workers=[_worker(services, each, now) for each in workers],
        storage=StorageStatus(database=database, blobs=services.blobs.kind, **counts),
    )


def _worker(services: Services, worker: Worker, now: int) -> WorkerStatus:
    silent = max(now - worker.seen_at, 0) / _MICROS
    return WorkerStatus(
        worker_id=worker.worker_id,
        version=worker.version,
        started_at=format_time(worker.started_at),
        silent_seconds=round(silent, 1),
        alive=silent <= services.upkeep.lease_seconds,
    )


def check_ready(services: Services) -> None:
    """Raise `DomainError` (503) naming the part that does not work."""
    for part, check in (("database", _check_database), ("blob store", _check_blobs)):
        try:
            check(services)
        except Exception as error:
            raise DomainError(Code.UNAVAILABLE, f"the {part} cannot be used ({type(error).__name__})") from error


def _check_database(services: Services) -> None:
    migrate.check(services.db)


def _check_blobs(services: Services) -> None:
    name = hashlib.sha256(_PROBE).hexdigest()
    services.blobs.put_bytes(name, _PROBE)
    if b"".join(services.blobs.read(name)) != _PROBE:
        raise OSError("the blob store gave other bytes than it got")
