"""One short method per API call: paths come from `contract.operations`, connections from `_http`; reading calls answer plain JSON."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from benchloop_client._calls import Body, Call, Span, if_changed, version_or_rest
from benchloop_client._http import Http
from benchloop_client._links import PREFER
from benchloop_client._stream import Stream, plain
from benchloop_client.contract import resources as shape
from benchloop_client.contract.ids import BadId
from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.contract.version import ONCE_HEADER
from benchloop_client.errors import ApiError, AuthError, LocalError, UsageError
from benchloop_client.settings import Settings

__all__ = ["Body", "Client", "Span", "Stream", "plain"]

T = TypeVar("T")
Query = dict[str, Any]


class Client:
    """The API of one server. Safe to share between threads; as a context manager it closes its connections.

    Reading calls return the decoded JSON unchanged (unknown fields included). All calls raise `AuthError`, `NotFound`, `ApiError`,
    `NetworkError`, `Cancelled`, and `UsageError` for an id that no request is made for. `cancel`: once set, every
    call ends within a second.
    """

    def __init__(self, settings: Settings, cancel: threading.Event | None = None) -> None:
        self.settings = settings
        self.cancel = cancel or threading.Event()
        self._http = Http(settings, self.cancel)
        self._version: shape.Version | None = None
        self._version_asked = False
        self._version_refused: ApiError | AuthError | None = None
        self._version_lock = threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; calls still under way in other threads end with an error."""
        self._http.close()

    def tell(self, say: Callable[[str], None]) -> None:
        """Tell `say` each request from now on: method, address, status and seconds, in one line without the key. Any thread may call it."""
        self._http.connections.tell = lambda text: say(self.settings.redact(text))

    def width(self) -> int:
        """How many requests the server may get at once now: more while it answers as fast, fewer when it refuses (for the pool)."""
        return self._http.gate.width

    def moved_bytes(self) -> int:
        """How many bytes came and went so far (for who shows progress)."""
        return self._http.traffic.received + self._http.traffic.sent

    def retrying(self, work: Callable[[], T]) -> T:
        """Run `work` and run it again, within the retry budget, when the body of an answer broke off (for streams)."""
        return self._http.retrying(work)

    # ---- metrics and groups -----------------------------------------------------------------------------------------------------

    def job_metrics(self, job_id: str) -> Any:
        """E1."""
        return self._json("job_metrics", job_id=job_id)

    def metrics_page(self, group_id: str, *, skip: int = 0, limit: int = 1000, cursor: str | None = None) -> Any:
        """E2, one page."""
        return self._json("metrics", {"group_id": group_id, **_page(skip, limit, cursor)})

    def group_metrics_overall(self, group_id: str) -> Any:
        """E3."""
        return self._json("group_metrics_overall", group_id=group_id)

    def group(self, group_id: str) -> Any:
        """E4; raises `NotFound` for an unknown group."""
        return self._json("group", group_id=group_id)

    def groups_page(self, *, limit: int = 1000, cursor: str | None = None) -> Any:
        """The groups of the workspace, newest first, one page."""
        return self._json("groups", _page(None, limit, cursor))

    def eval_summary(self, group_id: str) -> Any:
        """E5."""
        return self._json("eval_summary", group_id=group_id)

    def eval_tasks(self, group_id: str) -> Any:
        """E6 without any query, as the overview shows it."""
        return self._json("eval_tasks", group_id=group_id)

    def eval_tasks_page(self, group_id: str, *, skip: int, limit: int, search: str | None = None, status: str | None = None) -> Any:
        """E6, one page; empty filters are not sent."""
        return self._json("eval_tasks", {**_page(skip, limit), "search": search or None, "status": status or None}, group_id=group_id)

    # ---- jobs -------------------------------------------------------------------------------------------------------------------

    def jobs_page(self, group_id: str, *, skip: int = 0, limit: int = 50, cursor: str | None = None, filters: Query | None = None) -> Any:
        """E7, one page; `filters`: template, status, instance_id and what our server adds; empty ones are not sent."""
        return self._json("jobs", {"group_id": group_id, **_page(skip, limit, cursor), **_filled(filters)})

    def job(self, job_id: str) -> Any:
        """E8."""
        return self._json("job", job_id=job_id)

    def job_stats(self, group_id: str | None = None) -> Any:
        """E9."""
        return self._json("job_stats", {"group_id": group_id})

    def job_meta(self, job_id: str) -> Any:
        """E29."""
        return self._json("job_meta", job_id=job_id)

    # ---- trajectories -----------------------------------------------------------------------------------------------------------

    def job_trajectory(self, job_id: str) -> Any:
        """E10, decoded."""
        return self._big_json("job_trajectory", job_id=job_id)

    def job_trajectory_stream(self, job_id: str, *, etag: str | None = None, span: Span | None = None) -> Stream:
        """E10 as bytes; status 304 (`stream.unchanged`) when the document still has `etag`. `span`: only those of the bytes on the wire."""
        headers = span.headers if span else if_changed(etag)
        return self._http.open(self._call("job_trajectory", {"job_id": job_id}, accept_zstd=True, headers=headers))

    def group_trajectory(self, group_id: str) -> Any:
        """E11, decoded: the whole group in memory; for `trajectory get`."""
        return self._big_json("group_trajectory", group_id=group_id)

    def group_trajectory_stream(self, group_id: str) -> Stream:
        """E11 as bytes."""
        return self._http.open(self._call("group_trajectory", {"group_id": group_id}, accept_zstd=True))

    def group_trajectory_lines(self, group_id: str) -> Stream:
        """One E10 document a line, the job's id in `trajectory_id`; only where the server has feature `group-lines`."""
        return self._http.open(self._call("group_trajectory_lines", {"group_id": group_id}, accept_zstd=True))

    # ---- many jobs in one body, only where the server has feature `bulk`; see `contract.bulk` -------------------------------------

    def group_bulk_stream(self, group_id: str, kind: str, *, offset: int | None = None, etag: str | None = None) -> Stream:
        """All jobs of a group. With `offset` the rest of version `etag` from there on (200: it is another one), else 304 when unchanged."""
        return self._http.open(self._call("group_bulk", {"group_id": group_id, "kind": kind}, headers=version_or_rest(offset, etag)))

    def task_bulk_stream(self, task_id: str, kind: str, *, offset: int | None = None, etag: str | None = None) -> Stream:
        """The jobs of a download task, in its order; as `group_bulk_stream`."""
        return self._http.open(self._call("task_bulk", {"task_id": task_id, "kind": kind}, headers=version_or_rest(offset, etag)))

    def group_bulk_index_stream(self, group_id: str, kind: str) -> Stream:
        """Where each item of `group_bulk_stream` is."""
        return self._http.open(self._call("group_bulk_index", {"group_id": group_id, "kind": kind}, accept_zstd=True))

    def task_bulk_index_stream(self, task_id: str, kind: str) -> Stream:
        """Where each item of `task_bulk_stream` is."""
        return self._http.open(self._call("task_bulk_index", {"task_id": task_id, "kind": kind}, accept_zstd=True))

    # ---- artifacts and media ----------------------------------------------------------------------------------------------------

    def job_artifacts(self, job_id: str) -> Any:
        """E25."""
        return self._json("job_artifacts", job_id=job_id)

    def group_artifacts_page(self, group_id: str, *, skip: int = 0, limit: int = 1000, cursor: str | None = None) -> Any:
        """The artifacts of a group's jobs, one page; our own route."""
        return self._json("group_artifacts", _page(skip, limit, cursor), group_id=group_id)

    def job_artifact_stream(self, job_id: str, *, etag: str | None = None, span: Span | None = None) -> Stream:
        """E26 as bytes. `etag`: 304 when unchanged. `span`: only those bytes, see `stream.offset` and `stream.etag` for what came."""
        call = self._call("job_artifact_bytes", {"job_id": job_id}, headers={**PREFER, **(span.headers if span else if_changed(etag))})
        return self._http.open(replace(call, wants_gzip=True))

    def artifact_link_stream(self, url: str, *, etag: str | None = None, span: Span | None = None) -> Stream:
        """The bytes behind an artifact's own `url` (absolute, or relative to the host); the key goes to the configured origin only."""
        headers = {**PREFER, **(span.headers if span else if_changed(etag))}
        return self._http.open(Call("GET", url, headers=headers, wants_gzip=url.partition("?")[0].endswith((".tgz", ".gz"))))

    def job_artifact_members(self, job_id: str) -> Any:
        """The files inside a job's archive; our own route."""
        return self._json("job_artifact_members", job_id=job_id)

    def job_artifact_member_stream(self, job_id: str, path: str, *, span: Span | None = None) -> Stream:
        """One file out of a job's archive; our own route. `span`: only those bytes."""
        headers = span.headers if span else None
        return self._http.open(self._call("job_artifact_member", {"job_id": job_id}, query={"path": path}, headers=headers))

    def media_stream(self, oss_uri: str, mime_type: str | None = None) -> Stream:
        """E16."""
        return self._http.open(self._call("media_file", {}, query={"ossUri": oss_uri, "mime": mime_type or ""}, headers=PREFER))

    # ---- reports ------------------------------------------------------------------------------------------------------------------

    def job_report(self, job_id: str) -> Any:
        """E17."""
        return self._json("job_report", job_id=job_id)

    def group_report(self, group_id: str) -> Any:
        """E18."""
        return self._json("group_report", group_id=group_id)

    def job_report_trigger(self, job_id: str) -> Any:
        """E19: ask for the report of a job."""
        return self._once("job_report_trigger", {}, job_id=job_id)

    def group_report_trigger(self, group_id: str, *, include_passed: bool = False) -> Any:
        """E20: ask for the report of a group."""
        return self._once("group_report_trigger", {"include_passed": include_passed}, group_id=group_id)

    def job_rsi(self, job_id: str) -> Any:
        """E21."""
        return self._json("job_rsi", job_id=job_id)

    def group_rsi(self, group_id: str) -> Any:
        """E22."""
        return self._json("group_rsi", group_id=group_id)

    def job_rsi_trigger(self, job_id: str) -> Any:
        """E23: ask for the weakness report of a job."""
        return self._once("job_rsi_trigger", {}, job_id=job_id)

    def group_rsi_trigger(self, group_id: str, *, include_passed: bool = False) -> Any:
        """E24: ask for the weakness report of a group."""
        return self._once("group_rsi_trigger", {"include_passed": include_passed}, group_id=group_id)

    # ---- behaviour ----------------------------------------------------------------------------------------------------------------

    def behavior_steps(self, group_id: str) -> Any:
        """E30."""
        return self._json("behavior_steps", {"group_id": group_id})

    def behavior_task_create(self, request: Query) -> Any:
        """E31: `groupId`, `steps`, `scoringLimit`, and `sampleSize` for a group with steps."""
        return self._once("behavior_task_create", request)

    def behavior_tasks(self, group_id: str) -> Any:
        """E32."""
        return self._json("behavior_tasks", {"group_id": group_id})

    def behavior_task(self, uid: str) -> Any:
        """E33."""
        return self._json("behavior_task", uid=uid)

    def behavior_analysis(self, uid: str) -> Any:
        """E34."""
        return self._json("behavior_analysis", uid=uid)

    def behavior_task_cancel(self, uid: str) -> Any:
        """End a behaviour task; its record."""
        return self._once("behavior_task_cancel", {}, uid=uid)

    # ---- groups by hand, and who asks -----------------------------------------------------------------------------------------------

    def group_patch(self, group_id: str, changes: Query) -> Any:
        """Change `name`, `tags` or `note` of a group (see `contract.workspace.GroupPatch`); where the server has feature `group-edit`."""
        return self._http.json(self._call("group_patch", {"group_id": group_id}, body=_encoded(changes)))

    def group_delete(self, group_id: str) -> Any:
        """Delete a group and everything in it; only where the server has feature `group-edit`. Never repeated by itself."""
        return self._http.json(replace(self._call("group_delete", {"group_id": group_id}), repeatable=False))

    def whoami(self) -> Any:
        """Whose key this is; only where the server has feature `whoami`."""
        return self._json("whoami")

    # ---- download tasks ---------------------------------------------------------------------------------------------------------

    def download_task(self, task_id: str) -> Any:
        """E28."""
        return self._json("download_task", task_id=task_id)

    def download_task_create(self, request: shape.DownloadTaskCreate) -> Any:
        """Freeze the jobs that match `request` under a task id; our own route."""
        return self._http.json(replace(self._call("download_task_create", {}, body=_encoded(request)), repeatable=False))

    # ---- push -------------------------------------------------------------------------------------------------------------------

    def group_put(self, group_id: str, group: shape.GroupUpsert) -> shape.Group:
        """Create or update a group."""
        return self._typed(shape.Group, self._call("group_put", {"group_id": group_id}, body=_encoded(group)))

    def jobs_check(self, group_id: str, request: shape.JobsCheck) -> shape.JobStates:
        """What a push would change, job by job; at most 2,000."""
        return self._typed(shape.JobStates, self._call("jobs_check", {"group_id": group_id}, body=_encoded(request)))

    def jobs_put(self, group_id: str, request: shape.JobsUpsert) -> shape.JobStates:
        """Commit jobs whose uploads are there; at most 500. `ApiError` 422 names the job at fault, 409 the missing upload."""
        return self._typed(shape.JobStates, self._call("jobs_put", {"group_id": group_id}, body=_encoded(request)))

    def uploads_check(self, request: shape.UploadsCheck) -> shape.UploadsMissing:
        """Which contents the server lacks."""
        return self._typed(shape.UploadsMissing, self._call("uploads_check", {}, body=_encoded(request)))

    def uploads_bundle(self, body: Body) -> list[shape.Uploaded]:
        """Send several uploads in one request; answers in order."""
        return self._typed(_UploadedList, self._call("uploads_bundle", {}, body=body)).results

    def upload_put(self, kind: shape.UploadKind, sha256: str, body: Body) -> shape.Uploaded:
        """Send one upload; `body.encoding` may be "zstd" for trajectories."""
        return self._typed(shape.Uploaded, self._call("upload_put", {"kind": kind, "sha256": sha256}, body=body))

    # ---- what the server can do -------------------------------------------------------------------------------------------------

    def server_version(self) -> shape.Version | None:
        """Who answers and which features it has; None for a server that does not say (an older one). Asked once."""
        with self._version_lock:
            if not self._version_asked:
                self._version = self._ask_version()
                self._version_asked = True
            return self._version

    def has(self, feature: str) -> bool:
        """True when the server offers `feature` (names in `contract.version.FEATURES`)."""
        version = self.server_version()
        return version is not None and feature in version.features

    def must_have(self, feature: str, otherwise: str) -> None:
        """Raise unless the server offers `feature`: the error it gave when it was asked what it can, else `LocalError` with `otherwise`."""
        if self.has(feature):
            return
        refused = self._version_refused
        if isinstance(refused, AuthError) or (refused is not None and refused.status >= 500):
            raise refused
        raise LocalError(f"{otherwise}: a benchloop-server is needed")

    def _ask_version(self) -> shape.Version | None:
        try:
            return msgspec.convert(self._json("version"), shape.Version)
        except (ApiError, AuthError) as error:
            self._version_refused = error
        except (msgspec.ValidationError, ValueError):  # the second: text that is half an emoji
            pass
        return None

    # ---- the way down -----------------------------------------------------------------------------------------------------------

    def _json(self, name: str, query: Query | None = None, **ids: str) -> Any:
        return self._http.json(self._call(name, ids, query=query))

    def _big_json(self, name: str, **ids: str) -> Any:
        return self._http.json(self._call(name, ids, accept_zstd=True))

    def _once(self, name: str, request: Query, **ids: str) -> Any:
        """A POST for a wish that our server takes once, however often it comes. Others may know neither that nor the key: there it is only
        repeated when it certainly had no effect.
        """
        call = self._call(name, ids, body=_encoded(request), headers={ONCE_HEADER: os.urandom(16).hex()})
        return self._http.json(replace(call, repeatable=self.server_version() is not None))

    def _typed(self, kind: type[T], call: Call) -> T:
        try:
            return msgspec.convert(self._http.json(call), kind)
        except (msgspec.ValidationError, ValueError) as error:
            raise ApiError(200, f"the answer to {call.method} {call.path} has another shape than this client knows: {error}") from None

    @staticmethod
    def _call(
        name: str,
        ids: dict[str, str],
        *,
        query: Query | None = None,
        body: Body | None = None,
        headers: dict[str, str] | None = None,
        accept_zstd: bool = False,
    ) -> Call:
        operation = OPERATIONS[name]
        try:
            return Call(operation.method, operation.url_path(**ids), query, headers, body, accept_zstd)
        except BadId as error:
            raise UsageError(str(error)) from None


class _UploadedList(msgspec.Struct):
    results: list[shape.Uploaded]


def _page(skip: int | None, limit: int, cursor: str | None = None) -> Query:
    return {"limit": limit, "cursor": cursor} if cursor else {"skip": skip, "limit": limit}


def _filled(filters: Query | None) -> Query:
    return {name: value for name, value in (filters or {}).items() if value not in (None, "")}


def _encoded(record: msgspec.Struct | Query) -> Body:
    try:
        raw = msgspec.json.encode(record)
    except UnicodeEncodeError:  # half an emoji, as bytes that are no UTF-8 become in an argument
        raise UsageError("a text or id among the arguments is not UTF-8 and cannot be sent") from None
    return Body.json(raw)
