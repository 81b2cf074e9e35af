"""Wire contract §18: retries, concurrency and `--skip-existing`."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchloop_client import _retry
from benchloop_client.errors import ApiError
from tests.joined.conformance.conftest import World
from tests.joined.conformance.protocol import archive_of
from tests.support.programs import files_below, leftovers
from tests.support.scripted import Answer, Seen, binary, error, of_json

_BROKEN = Answer(200, b"{", {}, length=50)


def _failing(times: int, bad: Answer, good: Any) -> Any:
    """A handler that answers badly a few times, then well; a server that asks for no pause is asked again at once."""
    turns = itertools.count()

    def answer(_seen: Seen) -> Answer:
        return bad if next(turns) < times else good

    return answer


def _passing(status: int) -> Answer:
    return error(status, "for now", Retry_After="0")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_json_is_asked_for_again(old: World, status: int) -> None:
    old.on("GET /openapi/metrics/J1", _failing(2, _passing(status), of_json({})))
    assert old.bl("metrics", "get", "-j", "J1").code == 0
    assert len(old.asked("/openapi/metrics/J1")) == 3


def test_attempts_are_retry_and_one(old: World) -> None:
    old.on("GET /openapi/metrics/J1", _passing(500))
    for retry in (0, 1, 3):
        old.scripted.seen.clear()
        assert old.bl("--retry", str(retry), "metrics", "get", "-j", "J1").code == 1
        assert len(old.asked("/openapi/metrics/J1")) == retry + 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_other_statuses_are_final(old: World, status: int) -> None:
    old.on("GET /openapi/metrics/J1", _passing(status))
    assert old.bl("metrics", "get", "-j", "J1").code in (1, 3)
    assert len(old.asked("/openapi/metrics/J1")) == 1


def test_too_many_requests_is_asked_again(old: World) -> None:
    old.on("GET /openapi/metrics/J1", _failing(1, _passing(429), of_json({})))
    assert old.bl("metrics", "get", "-j", "J1").code == 0


def _posts(world: World, *answers: Answer) -> list[Seen]:
    """How a task is asked for while the server answers one thing after another."""
    turns = iter(answers)
    world.on("POST /openapi/behavior/tasks", lambda _seen: next(turns, of_json({"uid": "u"})))
    world.bl("brm", "run", "-g", "P1")
    return [seen for seen in world.scripted.seen if seen.method == "POST"]


def test_posts_are_repeated_with_one_key(old: World) -> None:
    """Where the server is one of ours, which takes the same wish once."""
    old.on("GET /openapi/version", of_json({"server": "benchloop-server", "version": "1.0.0", "api": 1, "features": []}))
    posts = _posts(old, _passing(503), _passing(500))
    assert len(posts) == 3
    assert len({seen.headers["idempotency-key"] for seen in posts}) == 1


@pytest.mark.parametrize(("status", "times"), [(503, 1), (500, 1), (429, 2)])
def test_posts_to_other_servers_are_repeated_only_without_effect(old: World, status: int, times: int) -> None:
    assert len(_posts(old, _passing(status))) == times


def test_broken_answers_are_asked_for_again(old: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "_FIRST_PAUSE", 0.001)
    old.on("GET /openapi/metrics/J1", _failing(2, _BROKEN, of_json({})))
    assert old.bl("metrics", "get", "-j", "J1").code == 0


@pytest.mark.parametrize("bad", [_passing(503), Answer(200, archive_of("J1")[:20], {}, length=500)])
def test_files_are_asked_for_again(old: World, out: Path, monkeypatch: pytest.MonkeyPatch, bad: Answer) -> None:
    monkeypatch.setattr(_retry, "_FIRST_PAUSE", 0.001)
    old.on("GET /openapi/jobs/J1/artifacts/download", _failing(1, bad, binary(archive_of("J1"))))
    assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    assert files_below(out) == {"J1/J1.tgz": archive_of("J1")}


def test_a_file_goes_on_where_it_broke_off(old: World, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "_FIRST_PAUSE", 0.001)
    body = archive_of("J1")
    head = {"Content-Type": "application/gzip", "ETag": '"v1"', "Accept-Ranges": "bytes"}

    def answer(seen: Seen) -> Answer:
        if "range" not in seen.headers:
            return Answer(200, body, head, sent=30)
        start = int(seen.headers["range"].removeprefix("bytes=").rstrip("-"))
        return Answer(206, body[start:], {**head, "Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"})

    old.on("GET /openapi/jobs/J1/artifacts/download", answer)
    assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    assert files_below(out) == {"J1/J1.tgz": body}
    assert [seen.headers.get("range") for seen in old.scripted.asked("/download")] == [None, "bytes=30-"]


def test_pauses_grow_with_jitter_and_end() -> None:
    fault = _retry.Retryable(ApiError(500, "x"))
    budget = _retry.Budget(40, threading.Event())
    pauses = [budget.spend(fault) for _ in range(40)]
    assert all(0 <= pause <= _retry.LONGEST_PAUSE for pause in pauses)
    assert len(set(pauses)) > 30
    assert max(pauses[:2]) <= 2.0


def test_retry_after_is_kept() -> None:
    budget = _retry.Budget(2, threading.Event())
    assert budget.spend(_retry.Retryable(ApiError(503, "x"), after=7.0)) == 7.0
    assert budget.spend(_retry.Retryable(ApiError(503, "x"), after=4000.0)) == _retry.LONGEST_ASKED_PAUSE


class _Load:
    """Counts how many requests are answered at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Answer:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02)
        with self._lock:
            self.now -= 1
        return of_json({"jobs": [1], "total": 1})


@pytest.mark.parametrize("width", [1, 3])
def test_concurrency_is_never_passed(old: World, width: int) -> None:
    load = _Load()
    old.on("GET /openapi/metrics/{job}", load)
    assert old.bl("--concurrency", str(width), "metrics", "get", "-j", ",".join(f"N{n}" for n in range(12))).code == 0
    assert load.most <= width
    assert width == 1 or load.most > 1


def test_groups_one_after_another(old: World, out: Path) -> None:
    assert old.bl("trajectory", "download", "-g", "P1,G1", "-o", str(out)).code == 0
    groups = [seen.path.split("/")[3][0] for seen in old.scripted.asked("/trajectory")]
    assert groups == sorted(groups, reverse=True)


@pytest.mark.parametrize("command", ["jobs get", "overview get --scope summary", "metrics get --scope overall"])
def test_gets_take_groups_side_by_side(old: World, command: str) -> None:
    load = _Load()
    for route in ("/openapi/jobs", "/openapi/groups/{group}/eval_summary", "/openapi/groups/{group}/metrics/overall"):
        old.on(f"GET {route}", load)
    assert old.bl("--concurrency", "4", *command.split(), "-g", "P1,G1,E0").code == 0
    assert load.most > 1


def test_pages_one_after_another(old: World) -> None:
    assert old.bl("jobs", "get", "-g", "G1", "--all", "--page-size", "2").code == 0
    skips = [int(query["skip"]) for _, _, query in old.asked("/openapi/jobs?")]
    assert skips == sorted(skips)


def test_pull_takes_jobs_side_by_side(old: World, out: Path) -> None:
    load = _Load()
    old.on("GET /openapi/metrics/{job}", load)
    assert old.bl("--concurrency", "4", "pull", "-j", "J1,J2,J3,J4", "--with", "metrics", "-o", str(out)).code == 0
    assert load.most > 1


def test_connections_are_kept(old: World) -> None:
    before = old.scripted.connections
    assert old.bl("--concurrency", "1", "metrics", "get", "-j", "J1,J2,J3,J4,J5").code == 0
    assert old.scripted.connections - before <= 2


# ---- --skip-existing --------------------------------------------------------------------------------------------------------------------


_SAVED = [
    ["metrics", "download", "-j", "J1"],
    ["metrics", "download", "-g", "G1"],
    ["trajectory", "download", "-j", "J1"],
    ["trajectory", "download", "-g", "G1"],
    ["trajectory", "download", "--task-id", "T1"],
    ["metadata", "download", "--task-id", "T1"],
    ["report", "download", "-j", "J1"],
    ["tasks", "download", "-g", "G1"],
    ["jobs", "download", "-g", "G1"],
    ["artifacts", "download", "--task-id", "T1"],
    ["pull", "-j", "J1"],
]


@pytest.mark.parametrize("argv", _SAVED, ids=" ".join)
def test_what_is_there_is_not_asked_for(old: World, out: Path, argv: list[str]) -> None:
    assert old.bl(*argv, "-o", str(out)).code == 0
    before = files_below(out)
    old.scripted.seen.clear()
    done = old.bl(*argv, "-o", str(out), "--skip-existing")
    assert (done.code, files_below(out)) == (0, before)
    assert [path for _, path, _ in old.asked() if "download-tasks" not in path] == []
    assert "skip existing" in done.err


def test_a_zip_that_is_there_ends_the_command(old: World, out: Path) -> None:
    argv = ["trajectory", "download", "--task-id", "T1", "-o", str(out)]
    assert old.bl(*argv).code == 0
    old.scripted.seen.clear()
    assert old.bl(*argv, "--skip-existing").code == 0
    assert old.scripted.seen == []


def test_without_the_flag_files_are_written_anew(old: World, out: Path) -> None:
    (out / "J1").mkdir(parents=True)
    (out / "J1" / "J1.tgz").write_bytes(b"mine")
    (out / "J1_run_metrics.json").write_text("mine")
    assert old.bl("artifacts", "download", "-j", "J1", "-o", str(out)).code == 0
    assert old.bl("metrics", "download", "-j", "J1", "-o", str(out)).code == 0
    found = files_below(out)
    assert found["J1/J1.tgz"] == archive_of("J1")
    assert json.loads(found["J1_run_metrics.json"])["job_id"] == "J1"


@pytest.mark.parametrize("content", [b"", b"somebody else's"])
def test_only_what_was_fetched_is_believed(each: World, out: Path, content: bytes) -> None:
    job = each.held.jobs[0]
    out.mkdir()
    (out / f"{job}_run_metrics.json").write_bytes(content)
    assert each.bl("metrics", "download", "-j", job, "-o", str(out), "--skip-existing").code == 0
    assert json.loads((out / f"{job}_run_metrics.json").read_bytes())["job_id"] == job


def test_a_placeholder_is_asked_for_again(old: World, out: Path) -> None:
    argv = ["artifacts", "download", "-j", "J1", "-o", str(out)]
    old.on("GET /openapi/jobs/J1/artifacts/download", error(404))
    assert old.bl(*argv).code == 0
    old.on("GET /openapi/jobs/J1/artifacts/download", binary(archive_of("J1")))
    assert old.bl(*argv, "--skip-existing").code == 0
    assert files_below(out) == {"J1/J1.tgz": archive_of("J1")}


def test_a_folder_of_the_name_is_a_failure(old: World, out: Path) -> None:
    (out / "J1_run_metrics.json").mkdir(parents=True)
    done = old.bl("metrics", "download", "-j", "J1", "-o", str(out), "--skip-existing")
    assert done.code == 1
    assert "J1_run_metrics.json" in done.err


def test_an_incomplete_zip_is_completed(old: World, out: Path) -> None:
    argv = ["trajectory", "download", "--task-id", "T1", "-o", str(out)]
    good = old.protocol and old.protocol.trajectory("J2")
    old.on("GET /openapi/jobs/J2/trajectory", error(404))
    assert old.bl(*argv).code == 1
    old.on("GET /openapi/jobs/J2/trajectory", of_json(good))
    assert old.bl(*argv, "--skip-existing").code == 0
    assert leftovers(out) == []
