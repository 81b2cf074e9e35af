"""How a server is doing: what waits for its workers, which workers there are, what is stored, and versions."""

from __future__ import annotations

from benchloop_client.contract.resources import Record


class QueueDepth(Record, frozen=True, kw_only=True):
    """Background work of one kind in the caller's workspace, pieces by state; `done`, `failed` and `cancelled` of the last seven days."""

    pending: int = 0
    claimed: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0


class WorkerStatus(Record, frozen=True, kw_only=True):
    """A worker process. `silent_seconds`: since its last sign of life; `alive`: that is short enough for its work to be left with it."""

    worker_id: str
    version: str
    started_at: str
    silent_seconds: float
    alive: bool


class StorageStatus(Record, frozen=True, kw_only=True):
    """What the caller's workspace keeps: `stored_bytes` are the bytes in the blob store, indexes included, before what workspaces share."""

    database: str
    blobs: str
    groups: int
    jobs: int
    uploads: int
    stored_bytes: int


class ServerStatus(Record, frozen=True, kw_only=True):
    """`queue` by kind of work. A server without work may have no worker: `serve` starts one when there is something to do."""

    server: str
    version: str
    schema: str
    time: str
    queue: dict[str, QueueDepth]
    workers: list[WorkerStatus]
    storage: StorageStatus
