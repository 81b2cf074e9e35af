"""A push, against a server in memory that keeps what it is sent as the real one does: contents first, then jobs, whole or not at all."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import tarfile
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from benchloop_client.actions import events
from benchloop_client.actions.push import Pushed, Request, SecretsFound, as_json, push
from benchloop_client.actions.work import Work
from benchloop_client.contract import resources as shape
from benchloop_client.contract.compression import decode
from benchloop_client.errors import ApiError, LocalError, NetworkError, NotFound, UsageError
from benchloop_client.settings import Flags, load

_SECRET = "AKIA" + "QYLPMN5HZ3TUWXJK"


class Store:
    """The push part of a server, as the client's methods."""

    def __init__(self) -> None:
        self.settings = load(Flags(host="http://127.0.0.1:9", concurrency=3), {"HOME": "/nonexistent"})
        self.cancel = threading.Event()
        self.groups: dict[str, dict[str, shape.JobUpsert]] = {}
        self.contents: dict[tuple[str, str], bytes] = {}
        self.requests: list[str] = []
        self.refuse: Callable[[shape.JobUpsert], bool] = lambda _job: False
        self.bad_content: Callable[[bytes], bool] = lambda _data: False
        self.down_after = 10**9

    def width(self) -> int:
        return 4

    def retrying(self, work: Callable[[], Any]) -> Any:
        return work()

    def has(self, feature: str) -> bool:
        return feature == "upload"

    def must_have(self, feature: str, otherwise: str) -> None:
        if not self.has(feature):
            raise LocalError(otherwise)

    def _ask(self, name: str) -> None:
        self.requests.append(name)
        if len(self.requests) > self.down_after:
            raise NetworkError("connection reset")

    def group(self, group_id: str) -> Any:
        self._ask("group")
        if group_id not in self.groups:
            raise NotFound(404, f"group {group_id} does not exist")
        return {"group_id": group_id, "present": len(self.groups[group_id])}

    def group_put(self, group_id: str, group: shape.GroupUpsert) -> Any:
        self._ask("group_put")
        self.groups.setdefault(group_id, {})
        return SimpleNamespace(expected=group.expected)

    def jobs_check(self, group_id: str, request: shape.JobsCheck) -> shape.JobStates:
        self._ask("jobs_check")
        return self._states(group_id, request.jobs)

    def uploads_check(self, request: shape.UploadsCheck) -> shape.UploadsMissing:
        self._ask("uploads_check")
        return shape.UploadsMissing(missing=[sha for sha in request.sha256 if (request.kind, sha) not in self.contents])

    def uploads_bundle(self, body: Any) -> list[shape.Uploaded]:
        self._ask("uploads_bundle")
        raw = b"".join(body.open())
        assert len(raw) == body.length
        found = []
        while raw:
            line, _, raw = raw.partition(b"\n")
            item = json.loads(line)
            found.append((item["kind"], item["sha256"], raw[: item["length"]], item["encoding"]))
            raw = raw[item["length"] :]
        if any(self.bad_content(self._plain(data, encoding)) for _, _, data, encoding in found):
            raise ApiError(422, "an item cannot be taken")
        return [self._keep(*each) for each in found]

    def upload_put(self, kind: Any, sha256: str, body: Any) -> shape.Uploaded:
        self._ask("upload_put")
        data = b"".join(body.open())
        if self.bad_content(self._plain(data, body.encoding)):
            raise ApiError(422, "this content cannot be taken")
        return self._keep(kind, sha256, data, body.encoding)

    def jobs_put(self, group_id: str, request: shape.JobsUpsert) -> shape.JobStates:
        self._ask("jobs_put")
        for job in request.jobs:
            if self.refuse(job):
                raise ApiError(422, f"job {job.job_id!r}: no")
            for kind, content in (("trajectory", job.trajectory), ("archive", job.archive)):
                assert content is None or (kind, content.sha256) in self.contents
        answer = self._states(group_id, request.jobs)
        self.groups[group_id] |= {job.job_id: job for job in request.jobs}
        return answer

    def _states(self, group_id: str, jobs: Any) -> shape.JobStates:
        known = self.groups[group_id]
        states = [
            "new" if job.job_id not in known else "unchanged" if known[job.job_id].fingerprint == job.fingerprint else "updated"
            for job in jobs
        ]
        results = [shape.JobState(job_id=job.job_id, state=state) for job, state in zip(jobs, states, strict=True)]  # type: ignore[arg-type]
        return shape.JobStates(group_id=group_id, results=results)

    def _plain(self, data: bytes, encoding: str | None) -> bytes:
        return b"".join(decode([data])) if encoding else data

    def _keep(self, kind: str, sha256: str, data: bytes, encoding: str | None) -> shape.Uploaded:
        plain = self._plain(data, encoding)
        assert hashlib.sha256(plain).hexdigest() == sha256
        created = (kind, sha256) not in self.contents
        self.contents[kind, sha256] = plain
        return shape.Uploaded(sha256=sha256, size=len(plain), created=created)

    def jobs_of(self, group_id: str) -> list[shape.JobUpsert]:
        return sorted(self.groups[group_id].values(), key=lambda job: job.job_id)


def _atif(number: int, text: str = "hello") -> bytes:
    steps = [{"step_id": 1, "source": "user", "message": text}, {"step_id": 2, "source": "agent", "message": f"done {number}"}]
    agent = {"name": "agent", "version": "1"}
    return json.dumps({"schema_version": "ATIF-v1.8", "session_id": f"s{number}", "agent": agent, "steps": steps}).encode()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of five documents."""
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(5):
        (folder / f"t{number}.json").write_bytes(_atif(number))
    return folder


def _push(store: Store, path: Path, *, seen: list[events.Event] | None = None, **options: Any) -> Pushed:
    watch = (lambda _event: None) if seen is None else seen.append
    return push(Work(store, watch), Request(path, group="g", **options))  # type: ignore[arg-type]


def _counts(pushed: Pushed) -> dict[str, Any]:
    counts = as_json(pushed.groups[0])
    return {name: counts[name] for name in ("present", "new", "updated", "unchanged")} | {"rejected": len(counts["rejected"])}


def test_a_first_push_sends_everything_and_a_second_nothing(run: Path) -> None:
    store = Store()
    assert _counts(_push(store, run)) == {"present": 5, "new": 5, "updated": 0, "unchanged": 0, "rejected": 0}
    store.requests.clear()
    assert _counts(_push(store, run)) == {"present": 5, "new": 0, "updated": 0, "unchanged": 5, "rejected": 0}
    assert not {"uploads_check", "uploads_bundle", "upload_put", "jobs_put"} & set(store.requests)


def test_documents_are_stamped_with_their_job(run: Path) -> None:
    store = Store()
    _push(store, run)
    for job in store.jobs_of("g"):
        assert job.trajectory is not None
        document = json.loads(store.contents["trajectory", job.trajectory.sha256])
        assert document["trajectory_id"] == job.job_id
        assert {key: document["extra"]["benchloop"][key] for key in ("job_id", "group_id", "task_id")} == {
            "job_id": job.job_id,
            "group_id": "g",
            "task_id": job.facts.task_id,
        }


def test_archives_hold_the_files(run: Path) -> None:
    store = Store()
    _push(store, run)
    for job in store.jobs_of("g"):
        if job.archive is not None:
            raw = store.contents["archive", job.archive.sha256]
            with tarfile.open(fileobj=BytesIO(gzip.decompress(raw))) as archive:
                assert archive.getnames()


def test_only_what_changed_is_sent(run: Path) -> None:
    store = Store()
    _push(store, run)
    (run / "t3.json").write_bytes(_atif(3, "another question"))
    (run / "t9.json").write_bytes(_atif(9))
    before = dict(store.groups["g"])
    assert _counts(_push(store, run)) == {"present": 6, "new": 1, "updated": 1, "unchanged": 4, "rejected": 0}
    assert sum(before.get(job_id) is not job for job_id, job in store.groups["g"].items()) == 2


def test_equal_contents_are_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t1.json").write_bytes(_atif(1))
    store = Store()
    _push(store, tmp_path / "a")
    sent = len(store.contents)
    store.groups.clear()
    _push(store, tmp_path / "a")
    assert len(store.contents) == sent


def test_a_refused_job_is_rejected_and_the_rest_is_committed(run: Path) -> None:
    store = Store()
    store.refuse = lambda job: "t2" in job.facts.task_id or "t2" in job.facts.trial_key
    assert _counts(_push(store, run)) == {"present": 4, "new": 4, "updated": 0, "unchanged": 0, "rejected": 1}


def test_a_refused_content_rejects_its_job_only(run: Path) -> None:
    store = Store()
    store.bad_content = lambda data: b"done 4" in data and data.startswith(b"{")
    pushed = _push(store, run)
    assert _counts(pushed)["present"] == 4
    assert [each.source for each in pushed.groups[0].rejected] == ["t4.json"]
    assert "cannot be taken" in pushed.groups[0].rejected[0].reason


def test_what_cannot_be_read_is_rejected_and_the_rest_goes_on(run: Path) -> None:
    (run / "t2.json").write_bytes(b'{"schema_version": "ATIF-v1.8", "steps": [')
    store = Store()
    pushed = _push(store, run)
    assert _counts(pushed)["new"] == 4
    assert [each.source for each in pushed.groups[0].rejected] == ["t2.json"]


@pytest.mark.parametrize("requests", range(1, 7))
def test_a_push_that_broke_off_anywhere_is_completed_by_the_next(run: Path, requests: int) -> None:
    store, clean = Store(), Store()
    store.down_after = requests
    with pytest.raises(NetworkError):
        _push(store, run)
    store.down_after = 10**9
    _push(store, run)
    _push(clean, run)
    assert store.jobs_of("g") == clean.jobs_of("g")
    assert store.contents == clean.contents


def test_secrets_stop_the_push_before_anything_is_sent(run: Path) -> None:
    (run / "t1.json").write_bytes(_atif(1, f"export AWS_ACCESS_KEY_ID={_SECRET}"))
    store = Store()
    with pytest.raises(SecretsFound) as caught:
        _push(store, run)
    assert set(store.requests) == {"group"}
    assert any(detail.startswith("t1.json") and detail.endswith("aws-key-id") for detail in caught.value.details)
    assert _SECRET not in str(caught.value) + "".join(caught.value.details)


def test_secrets_of_jobs_that_are_not_sent_do_not_stop_it(run: Path) -> None:
    (run / "t1.json").write_bytes(_atif(1, _SECRET))
    store = Store()
    _push(store, run, secrets="allow")
    (run / "t7.json").write_bytes(_atif(7))
    assert _counts(_push(store, run))["new"] == 1


def test_redaction_leaves_no_secret_and_valid_documents(run: Path) -> None:
    (run / "t1.json").write_bytes(_atif(1, f'key "{_SECRET}" end'))
    store = Store()
    assert _counts(_push(store, run, secrets="redact"))["new"] == 5
    for (kind, _), data in store.contents.items():
        plain = gzip.decompress(data) if kind == "archive" else data
        assert _SECRET.encode() not in plain
        if kind == "trajectory":
            json.loads(plain)
    assert _SECRET.encode() not in msgspec.json.encode(store.jobs_of("g"))


def test_large_contents_go_alone_and_small_ones_together(run: Path) -> None:
    noise = base64.b64encode(random.Random(1).randbytes(12_000_000)).decode()
    (run / "t1.json").write_bytes(_atif(1, noise))
    store = Store()
    _push(store, run, secrets="allow")
    assert store.requests.count("upload_put") >= 1
    assert store.requests.count("uploads_bundle") >= 1


def test_progress_names_jobs_read_and_pushed(run: Path) -> None:
    seen: list[events.Event] = []
    _push(Store(), run, seen=seen)
    assert events.CountStarted("pushing g", "jobs", 5) in seen
    assert [event.done for event in seen if isinstance(event, events.Counted) and event.label == "reading g"][-1] == 5


def test_requests_that_cannot_work_say_why(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0")
    with pytest.raises(LocalError):
        _push(Store(), tmp_path / "x.bin")
    with pytest.raises(UsageError, match="group id"):
        push(Work(Store()), Request(tmp_path, group="a/b"))  # type: ignore[arg-type]
    old = Store()
    old.has = lambda feature: False  # type: ignore[method-assign,assignment,misc]
    with pytest.raises(LocalError, match="does not take uploads"):
        _push(old, tmp_path)
