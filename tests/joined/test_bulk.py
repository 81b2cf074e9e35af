"""Bulk bodies over the wire: their items are what the single routes answer, in order, with an index, and change only with the content."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
import urllib3
from sqlalchemy import delete

from benchloop_client.contract.compression import decode
from benchloop_client.contract.trajectory import is_absent
from benchloop_server.sql.tables import jobs as job_rows
from tests.support.bulk import items
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served

KINDS = ("trajectories", "metadata", "artifacts")
ZSTD = {"Accept-Encoding": "zstd"}


def jobs(count: int = 6, text: str = "hello") -> list[Sent]:
    """Jobs j0, j1, …; every third has no trajectory, every fourth no artifact, j5 shares the archive of j1."""
    return [
        Sent(
            f"j{n}",
            task_id=f'a "task" №{n}',
            document=None if n % 3 == 2 else document(f"j{n}", "g1", task_id=f'a "task" №{n}', steps=n + 1, text=text),
            archive=None if n % 4 == 3 else archive({"log.txt": b"%d" % (1 if n == 5 else n) * 5000}),
        )
        for n in range(count)
    ]


def bulk(served: Served, kind: str, path: str = "groups/g1", **options: Any) -> urllib3.BaseHTTPResponse:
    """The body of one kind."""
    return served.get(f"/openapi/{path}/bulk/{kind}", **options)


def good(answer: urllib3.BaseHTTPResponse) -> bytes:
    """The body of a 200 whose announced length is right and which has no coding."""
    assert answer.status == 200, answer.data
    assert int(answer.headers["content-length"]) == len(answer.data)
    assert "content-encoding" not in answer.headers
    assert answer.headers["accept-ranges"] == "bytes"
    return answer.data


def task(served: Served) -> str:
    """A download task of the jobs of g1 now."""
    answer = served.request("POST", "/openapi/trajectory-download-tasks", json={"group_id": "g1"})
    return str(json.loads(answer.data)["task_id"])


@pytest.fixture(params=["group", "task"])
def source(request: pytest.FixtureRequest, served: Served) -> str:
    """Six jobs, and the path of their group or of a task that froze them."""
    push(served, *jobs())
    return "groups/g1" if request.param == "group" else f"download-tasks/{task(served)}"


def test_trajectory_items_are_e10_as_zstd(served: Served, source: str) -> None:
    found = items(good(bulk(served, "trajectories", source, headers=ZSTD)))
    assert [line["job_id"] for line, _ in found] == [f"j{n}" for n in range(6)]
    for n, (line, content) in enumerate(found):
        assert line["kind"] == "trajectory"
        plain = served.get(f"/openapi/jobs/j{n}/trajectory").data
        assert line["size"] == len(plain)
        if n % 3 == 2:
            assert (line["absent"], line["encoding"], content) == (True, None, plain)
            assert is_absent(content)
        else:
            assert ("absent" not in line, line["encoding"]) == (True, "zstd")
            assert b"".join(decode([content])) == plain
            assert content == served.get(f"/openapi/jobs/j{n}/trajectory", headers=ZSTD).data


def test_artifact_items_are_the_archives(served: Served, source: str) -> None:
    for n, (line, content) in enumerate(items(good(bulk(served, "artifacts", source)))):
        assert (line["job_id"], line["kind"], line["name"], line["encoding"]) == (f"j{n}", "artifact", f"j{n}.tgz", None)
        single = served.get(f"/openapi/jobs/j{n}/artifacts/download")
        if n % 4 == 3:
            assert (single.status, line["absent"], content) == (404, True, b"")
        else:
            assert content == single.data
            assert line["size"] == len(content)


def test_metadata_items_are_e29_byte_for_byte(served: Served, source: str) -> None:
    found = items(good(bulk(served, "metadata", source)))
    assert [content for _, content in found] == [served.get(f"/openapi/jobs/j{n}/meta").data for n in range(6)]


STRANGE = {"é": [1.5, 1e300, 5e-324, -0.0, 12345678901234567, 2**63, True, None, '\u2028"\\/\x7f😀'], "": {"b": {}, "a": []}}


def test_metadata_of_strange_values_are_e29_byte_for_byte(served: Served) -> None:
    assert served.request("PUT", "/openapi/groups/g1", json={"name": "g1"}).status == 200
    source = {"format": "x", "reader": "r", "reader_version": 2, "location": "ö\\"}
    phases = {"ü": {"started_at": "2026-01-02T03:04:05.5Z"}, "b": {}}
    facts = {"trial_key": "t", "task_id": "\n", "status": "completed", "meta": STRANGE, "source": source, "phases": phases}
    job = {"job_id": "j", "fingerprint": "0" * 64, "facts": facts}
    assert served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job]}).status == 200
    single = served.get("/openapi/jobs/j/meta").data
    assert items(good(bulk(served, "metadata")))[0][1] == single
    assert json.loads(single)["meta"] == STRANGE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("headers", [{}, ZSTD])
def test_the_index_says_where_each_item_is(served: Served, source: str, kind: str, headers: dict[str, str]) -> None:
    whole = bulk(served, kind, source)
    answer = bulk(served, f"{kind}/index", source, headers=headers)
    assert int(answer.headers["content-length"]) == len(answer.data)
    assert answer.headers.get("content-encoding") == headers.get("Accept-Encoding")
    head, *entries = map(json.loads, (b"".join(decode([answer.data])) if headers else answer.data).splitlines())
    assert head == {"etag": whole.headers["etag"], "total_length": len(whole.data), "items": 6}
    for entry, (line, content) in zip(entries, items(whole.data), strict=True):
        offset = entry.pop("offset")
        assert (entry, whole.data[offset : offset + line["length"]]) == (line, content)


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_stays_with_the_content_and_changes_with_it(served: Served, kind: str) -> None:
    push(served, *jobs())
    first, task_id = bulk(served, kind).headers["etag"], task(served)
    assert first.startswith('"')
    assert bulk(served, kind, f"download-tasks/{task_id}").headers["etag"] == first == bulk(served, kind).headers["etag"]
    again = bulk(served, kind, headers={"If-None-Match": first})
    assert (again.status, again.data) == (304, b"")
    push(served, Sent("j1", document=document("j1", "g1", text="other"), archive=archive({"a": b"b"})))
    assert bulk(served, kind).headers["etag"] != first
    assert bulk(served, kind, f"download-tasks/{task_id}").headers["etag"] == bulk(served, kind).headers["etag"]
    push(served, *jobs(7)[6:])
    assert bulk(served, kind, headers={"If-None-Match": first}).status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_keeps_its_order_and_says_which_jobs_are_gone(served: Served, kind: str) -> None:
    push(served, *jobs())
    task_id = task(served)
    push(served, *jobs(9)[6:])
    with served.services.db.write() as connection:
        connection.execute(delete(job_rows).where(job_rows.c.job_id.in_(["j1", "j4"])))
    found = items(good(bulk(served, kind, f"download-tasks/{task_id}")))
    assert [line["job_id"] for line, _ in found] == [f"j{n}" for n in range(6)]
    gone = [line for line, content in found if line.get("gone")]
    assert [(line["job_id"], line["absent"], line["length"]) for line in gone] == [("j1", True, 0), ("j4", True, 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_without_jobs_is_an_empty_body(served: Served, kind: str) -> None:
    assert served.request("PUT", "/openapi/groups/g1", json={"name": "g1"}).status == 200
    assert good(bulk(served, kind)) == b""
    assert len(bulk(served, f"{kind}/index").data.splitlines()) == 1
    assert bulk(served, kind, headers={"Range": "bytes=0-"}).status == 416


@pytest.mark.parametrize("ending", ["", "/index"])
def test_what_is_unknown_is_404(served: Served, ending: str) -> None:
    push(served, *jobs(2))
    mine = f"download-tasks/{task(served)}"
    for kind, path in (("archive", "groups/g1"), ("artifacts", "groups/nope"), ("artifacts", "download-tasks/nope"), ("media", mine)):
        assert bulk(served, kind + ending, path).status == 404
    assert bulk(served, "artifacts" + ending, mine, workspace="other").status == 404
    assert bulk(served, "artifacts" + ending, workspace="other").status == 404


def test_damage_breaks_the_body_before_the_item_is_whole(served: Served) -> None:
    push(served, *jobs(2))
    whole = good(bulk(served, "artifacts"))
    for path in (served.data / "blobs").glob("??/??/*"):
        raw = path.read_bytes()
        at = raw.find(items(whole)[1][1])
        if at >= 0:
            path.chmod(0o600)
            path.write_bytes(raw[: at + 9] + bytes([raw[at + 9] ^ 1]) + raw[at + 10 :])
    answer = bulk(served, "artifacts")
    assert answer.status == 500
    assert json.loads(answer.data)["code"] == "data_damaged"


def test_jobs_that_change_meanwhile_do_not_tear_the_body(served: Served) -> None:
    push(served, *jobs(12))
    stop = threading.Event()

    def change() -> None:
        for turn in range(1000):
            if stop.is_set():
                return
            push(served, *jobs(6, text=f"turn {turn}"))

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for kind in KINDS * 5:
            assert [line["job_id"] for line, _ in items(good(bulk(served, kind)))] == [f"j{n}" for n in range(12)]
    finally:
        stop.set()
        writer.join(30)


def test_what_was_stored_before_the_digest_was_noted_is_served_the_same(served: Served) -> None:
    push(served, *jobs(4))
    before = bulk(served, "trajectories")
    with served.services.db.write() as connection:
        connection.exec_driver_sql("UPDATE uploads SET info_json = json_remove(info_json, '$.served_sha256')")
    after = bulk(served, "trajectories")
    assert (after.data, after.headers["etag"]) == (before.data, before.headers["etag"])
