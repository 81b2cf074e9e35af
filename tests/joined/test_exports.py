"""Exports over the wire: joined from what is stored, exact in length, consistent while the group changes."""

from __future__ import annotations

import json
import threading

import pytest
import urllib3

from benchloop_client.contract.compression import decode
from benchloop_client.contract.trajectory import is_absent
from benchloop_server.features.exports import manifest
from benchloop_server.features.reclaim import service as reclaim
from tests.support.pushing import Sent, document, push, sha
from tests.support.served import Served

ZSTD = {"Accept-Encoding": "zstd"}
ROUTES = ("/openapi/groups/g1/trajectory", "/openapi/groups/g1/trajectory/lines", "E14")


def jobs(count: int = 5, text: str = "hello") -> list[Sent]:
    """Jobs j0, j1, … of group g1; every third has no trajectory."""
    return [Sent(f"j{n}", document=None if n % 3 == 2 else document(f"j{n}", "g1", steps=n + 1, text=text)) for n in range(count)]


def export(served: Served, group_id: str = "g1") -> dict[str, str]:
    """E12."""
    answer = served.get(f"/openapi/groups/{group_id}/trace-trajectory/download")
    assert answer.status == 200, answer.data
    found: dict[str, str] = json.loads(answer.data)
    return found


def fetch(served: Served, route: str, **options: object) -> urllib3.BaseHTTPResponse:
    """One of `ROUTES`."""
    return served.get(export(served)["download_url"] if route == "E14" else route, **options)


def body(answer: urllib3.BaseHTTPResponse) -> bytes:
    """The plain body; asserts the announced length."""
    assert answer.status == 200, answer.data
    assert int(answer.headers["content-length"]) == len(answer.data)
    return b"".join(decode([answer.data])) if answer.headers.get("content-encoding") == "zstd" else answer.data


def test_e12_is_ready_at_once_and_e13_agrees(served: Served) -> None:
    push(served, *jobs())
    first = export(served)
    assert first["status"] == "succeeded"
    assert first["download_url"].startswith("/openapi/groups/g1/")
    again = served.get(f"/openapi/groups/g1/trace-trajectory/download/{first['download_job_name']}")
    assert json.loads(again.data) == first == export(served)


def test_e14_rows_have_job_id_first_and_the_document_behind(served: Served) -> None:
    sent = jobs(7)
    push(served, *sent)
    answer = fetch(served, "E14")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = body(answer).splitlines()
    with_one = [job for job in sent if job.document]
    assert len(lines) == len(with_one)
    for line, job in zip(lines, with_one, strict=True):
        assert line.startswith(b'{"job_id":"%s",' % job.job_id.encode())
        row = json.loads(line)
        assert row.pop("job_id") == job.job_id
        assert row == json.loads(job.document or b"")


def test_lines_are_the_documents(served: Served) -> None:
    sent = jobs(7)
    push(served, *sent)
    lines = body(fetch(served, ROUTES[1])).splitlines()
    assert [line for line in lines if not is_absent(line)] == [job.document for job in sent if job.document]


def test_e11_is_one_document(served: Served) -> None:
    sent = jobs(7)
    push(served, *sent)
    whole = json.loads(body(fetch(served, ROUTES[0])))
    assert list(whole) == ["group_id", "trajectories"]
    assert [row for row in whole["trajectories"] if row["steps"]] == [json.loads(job.document) for job in sent if job.document]


@pytest.mark.parametrize("route", ROUTES)
def test_zstd_and_plain_are_the_same(served: Served, route: str) -> None:
    push(served, *jobs(20))
    packed = fetch(served, route, headers=ZSTD)
    assert packed.headers["content-encoding"] == "zstd"
    assert body(packed) == body(fetch(served, route))


@pytest.mark.parametrize("route", ROUTES)
def test_a_group_without_jobs_is_an_empty_export(served: Served, route: str) -> None:
    assert served.request("PUT", "/openapi/groups/g1", json={"name": "g1"}).status == 200
    for headers in ({}, ZSTD):
        plain = body(fetch(served, route, headers=headers))
        assert plain == (b'{"group_id":"g1","trajectories":[]}' if route == ROUTES[0] else b"")


def test_jobs_without_trajectory_keep_their_place(served: Served) -> None:
    push(served, *jobs(7))
    for headers in ({}, ZSTD):
        lines = body(fetch(served, ROUTES[1], headers=headers)).splitlines()
        assert [json.loads(line)["trajectory_id"] for line in lines] == [f"j{n}" for n in range(7)]
        assert [n for n, line in enumerate(lines) if is_absent(line)] == [2, 5]
        assert [json.loads(line) for line in lines] == json.loads(body(fetch(served, ROUTES[0])))["trajectories"]


def test_an_export_is_renamed_when_an_unrecorded_job_comes(served: Served) -> None:
    push(served, *jobs(2))
    before = export(served)
    push(served, *jobs(3))
    assert export(served)["download_job_name"] != before["download_job_name"]


def test_an_unknown_group_and_a_foreign_one_are_404(served: Served) -> None:
    push(served, *jobs(2))
    name = export(served)["download_job_name"]
    paths = [
        "trajectory",
        "trajectory/lines",
        "trace-trajectory/download",
        f"trace-trajectory/download/{name}",
        f"trace-trajectory/file/{name}",
    ]
    for path in paths:
        assert served.get(f"/openapi/groups/nope/{path}").status == 404
        assert served.get(f"/openapi/groups/g1/{path}", workspace="other").status == 404


def test_a_name_keeps_what_it_named_when_the_group_changes(served: Served) -> None:
    sent = jobs(4)
    push(served, *sent)
    before = export(served)
    content = body(served.get(before["download_url"]))
    push(served, Sent("j1", document=document("j1", "g1", text="other")), Sent("j9", document=document("j9", "g1")))
    for forgotten in (False, True):
        if forgotten:  # as after a restart
            served.services.recent.clear()
        after = export(served)
        assert before["download_job_name"] != after["download_job_name"]
        assert body(served.get(before["download_url"])) == content != body(served.get(after["download_url"]))
        assert body(served.get(before["download_url"], headers=ZSTD)) == content
        state = served.get(f"/openapi/groups/g1/trace-trajectory/download/{before['download_job_name']}")
        assert json.loads(state.data) == before


def test_a_name_ends_when_its_bytes_are_given_back(served: Served) -> None:
    push(served, *jobs(2))
    before = export(served)
    push(served, Sent("j1", document=document("j1", "g1", text="other")))
    for _ in range(2):
        reclaim.collect(served.services, grace_hours=0)
    served.services.recent.clear()
    assert served.get(before["download_url"]).status == 404
    assert served.get(export(served)["download_url"]).status == 200


def test_a_name_belongs_to_its_group_and_workspace(served: Served) -> None:
    push(served, *jobs(2), Sent("k", group_id="g2", document=document("k", "g2")))
    for workspace in ("default", "other"):
        push(served, Sent("j1", document=document("j1", "g1")), workspace=workspace)
    name = export(served)["download_job_name"]
    served.services.recent.clear()
    assert served.get(f"/openapi/groups/g1/trace-trajectory/file/{name}").status == 200
    assert served.get(f"/openapi/groups/g2/trace-trajectory/file/{name}").status == 404
    assert served.get(f"/openapi/groups/g1/trace-trajectory/file/{name}", workspace="other").status == 404


def test_a_forged_name_gives_nobody_what_is_not_theirs(served: Served) -> None:
    push(served, *jobs(2))
    push(served, Sent("mine", document=document("mine", "g1")), workspace="other")
    stolen = manifest.Row("mine", sha(jobs(2)[0].document or b""), len(jobs(2)[0].document or b""))
    kept = manifest.Manifest(workspace_id="other", group_id="g1", version="0" * 40, day=0, rows=[stolen])
    for raw in (manifest.encoded(kept), b"no manifest", manifest.encoded(kept)[:-3]):
        served.services.blobs.put_bytes(sha(raw), raw)
        for workspace in ("default", "other"):
            assert served.get(f"/openapi/groups/g1/trace-trajectory/file/export-{sha(raw)}", workspace=workspace).status == 404


def test_if_none_match(served: Served) -> None:
    push(served, *jobs(2))
    for route in ROUTES:
        tag = fetch(served, route, headers=ZSTD).headers["etag"]
        assert fetch(served, route, headers={**ZSTD, "If-None-Match": tag}).status == 304


def test_jobs_that_change_meanwhile_do_not_tear_the_stream(served: Served) -> None:
    push(served, *jobs(30))
    stop = threading.Event()

    def change() -> None:
        for turn in range(1000):
            if stop.is_set():
                return
            push(served, *jobs(6, text=f"turn {turn}"))

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for route in ROUTES[:2] * 5:
            plain = body(fetch(served, route))
            lines = [json.loads(line) for line in plain.splitlines()] if route == ROUTES[1] else json.loads(plain)["trajectories"]
            assert [row["trajectory_id"] for row in lines] == [job.job_id for job in jobs(30)]
    finally:
        stop.set()
        writer.join(30)


def test_damage_in_the_middle_breaks_the_connection(served: Served) -> None:
    push(served, *[Sent(f"j{n}", document=document(f"j{n}", "g1", steps=40, text=f"{n}" * 400)) for n in range(60)])
    files = [path for path in (served.data / "blobs").rglob("*") if path.is_file() and path.parent.name != "incoming"]
    for path in files:
        data = path.read_bytes()
        path.write_bytes(b"!".join(data[at : at + 99] for at in range(0, len(data), 100))[: len(data)])
    for route in (ROUTES[0], ROUTES[1]):
        for headers in ({}, ZSTD):
            assert torn(served, route, headers)


def torn(served: Served, route: str, headers: dict[str, str]) -> bool:
    """Whether a body did not arrive whole: an error answer, or a broken connection."""
    try:
        return fetch(served, route, headers=headers).status == 500
    except urllib3.exceptions.ProtocolError:
        return True


@pytest.fixture
def large(served: Served) -> Served:
    """A server with a group of 300 jobs."""
    push(served, *jobs(300))
    return served


def test_a_larger_group_is_exact(large: Served) -> None:
    for route in ROUTES:
        packed, plain = fetch(large, route, headers=ZSTD), fetch(large, route)
        assert body(packed) == body(plain)
    assert len(body(fetch(large, "E14")).splitlines()) == 200
