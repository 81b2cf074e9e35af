"""E10 and E16 over the wire: the stored document, plain or as zstd, and the images that only the job's readers see."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
import urllib3
from sqlalchemy import select

from benchloop_client.contract.compression import decode
from benchloop_server.sql.tables import uploads
from tests.support.pushing import Sent, document, push, sha
from tests.support.served import Served

ZSTD = {"Accept-Encoding": "gzip, zstd"}
PNG = b"\x89PNG" + bytes(range(256)) * 40
LONG = document("long", "g1", steps=4000, text="x" * 300)


def trajectory(served: Served, job_id: str, **options: object) -> urllib3.BaseHTTPResponse:
    """E10."""
    return served.get(f"/openapi/jobs/{job_id}/trajectory", **options)


def stored(served: Served) -> tuple[Path, int, int]:
    """Where the only trajectory is stored: file, offset, length."""
    with served.services.db.read() as connection:
        row = connection.execute(select(uploads).where(uploads.c.kind == "trajectory")).one()
    return next(path for path in (served.data / "blobs").rglob(row.blob)), row.blob_offset, row.stored_size


@pytest.mark.parametrize("steps", [1, 3, 500])
def test_the_document_comes_back_exactly(served: Served, steps: int) -> None:
    sent = document("j1", "g1", steps=steps)
    push(served, Sent("j1", document=sent))
    plain, packed = trajectory(served, "j1"), trajectory(served, "j1", headers=ZSTD)
    assert plain.data == sent
    assert int(plain.headers["content-length"]) == len(sent)
    assert packed.headers["content-encoding"] == "zstd"
    assert int(packed.headers["content-length"]) == len(packed.data)
    assert b"".join(decode([packed.data])) == sent


def test_a_long_document_is_many_frames(served: Served) -> None:
    push(served, Sent("long", document=LONG))
    packed = trajectory(served, "long", headers=ZSTD)
    assert packed.data.count(b"\x28\xb5\x2f\xfd") >= len(LONG) // (1 << 18)
    assert b"".join(decode([packed.data])) == LONG
    assert trajectory(served, "long").data == LONG


def test_a_document_of_another_writer_is_served_in_normal_form(served: Served) -> None:
    normal = document("j1", "g1")
    other = json.dumps(json.loads(normal), indent=1, sort_keys=True).encode()
    push(served, Sent("j1", document=other))
    for headers in ({}, ZSTD):
        answer = trajectory(served, "j1", headers=headers)
        assert int(answer.headers["content-length"]) == len(answer.data)
    served_form = trajectory(served, "j1").data
    assert json.loads(served_form) == json.loads(normal)
    assert len(served_form) == len(normal) == json.loads(served.get("/openapi/jobs/j1").data)["trajectory_bytes"]


def test_etags_differ_by_coding_and_answer_304(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1")))
    tags = [trajectory(served, "j1", headers=headers).headers["etag"] for headers in ({}, ZSTD)]
    assert tags[0] != tags[1]
    same = trajectory(served, "j1", headers={"If-None-Match": tags[0]})
    assert (same.status, same.data) == (304, b"")
    assert trajectory(served, "j1", headers={"If-None-Match": tags[1]}).status == 200
    assert same.headers["vary"] == "Accept-Encoding"


def test_source_is_optional_and_ignored(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1")))
    assert trajectory(served, "j1", fields={"source": "trace"}).status == 200


def test_an_unknown_job_is_404(served: Served) -> None:
    push(served, Sent("j1"))
    answer = trajectory(served, "j2")
    assert answer.status == 404
    assert "j2" in json.loads(answer.data)["error"]


def test_a_job_without_trajectory_has_a_document_that_says_so(served: Served) -> None:
    push(served, Sent("j1"))
    answer = trajectory(served, "j1")
    found = json.loads(answer.data)
    assert (answer.status, found["trajectory_id"], found["steps"]) == (200, "j1", [])
    assert found["extra"]["benchloop"]["recorded"] is False
    assert found["extra"]["benchloop"]["group_id"] == "g1"


def test_another_workspace_sees_nothing(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1"), media={"a.png": ("image/png", PNG)}))
    assert trajectory(served, "j1", workspace="other").status == 404
    assert media(served, f"blmedia/j1/{sha(PNG)}/a.png", workspace="other").status == 404


def media(served: Served, uri: str, **options: object) -> urllib3.BaseHTTPResponse:
    """E16."""
    return served.get(f"/openapi/getTrajV2/mediaFile?ossUri={quote(uri, safe='')}&mime=image%2Fpng", **options)


def test_media_is_an_attachment_with_ranges(served: Served) -> None:
    push(served, Sent("j1", media={"shots/a.png": ("image/png", PNG)}))
    uri = f"blmedia/j1/{sha(PNG)}/shots/a.png"
    whole = media(served, uri)
    assert (whole.status, whole.data, whole.headers["content-type"]) == (200, PNG, "image/png")
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.headers["content-disposition"].startswith('attachment; filename="a.png"')
    part = media(served, uri, headers={"Range": "bytes=10-19"})
    assert (part.status, part.data, part.headers["content-range"]) == (206, PNG[10:20], f"bytes 10-19/{len(PNG)}")


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/javascript", "image/png\r\nX: y"])
def test_media_that_a_browser_could_run_is_only_bytes(served: Served, kind: str) -> None:
    push(served, Sent("j1", media={"a": (kind, PNG)}))
    answer = media(served, f"blmedia/j1/{sha(PNG)}/a")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/octet-stream")
    assert "x" not in answer.headers


def test_media_is_only_what_the_job_names(served: Served) -> None:
    push(served, Sent("j1", media={"a.png": ("image/png", PNG)}), Sent("j2", media={"b.png": ("image/png", PNG + b"2")}))
    other = sha(PNG + b"2")
    wrong = [f"blmedia/j1/{other}/b.png", f"blmedia/j2/{sha(PNG)}/a.png", f"blmedia/j1/{sha(PNG)}/b.png", f"blmedia/j1/{sha(PNG)}", "x", ""]
    wrong += [f"blmedia/j1/../j1/{sha(PNG)}/a.png", "../../etc/passwd", "http://127.0.0.1/", f"blmedia/j1\0/{sha(PNG)}/a.png"]
    assert {media(served, uri).status for uri in wrong} <= {400, 404}
    assert served.get("/openapi/getTrajV2/mediaFile").status == 400


def flip(path: Path, at: int) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


DAMAGE: dict[str, Callable[[Path, int, int], None]] = {
    "flipped": lambda path, offset, length: flip(path, offset + length // 2),
    "cut": lambda path, offset, length: os.truncate(path, offset + length - 10),
    "gone": lambda path, *_: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("headers", [{}, ZSTD], ids=["plain", "zstd"])
def test_damage_is_an_error_and_never_a_document(served: Served, damage: str, headers: dict[str, str]) -> None:
    push(served, Sent("j1", document=document("j1", "g1", steps=200)))
    DAMAGE[damage](*stored(served))
    answer = trajectory(served, "j1", headers=headers)
    assert answer.status == 500
    assert json.loads(answer.data)["code"] == "data_damaged"


def noisy(job_id: str) -> bytes:
    """A document that stays large when it is compressed."""
    texts = "".join(sha(f"{job_id}{n}".encode()) for n in range(40_000))
    return document(job_id, "g1", steps=2, text=texts)


@pytest.mark.parametrize("headers", [{}, ZSTD], ids=["plain", "zstd"])
def test_damage_behind_the_first_megabyte_breaks_the_connection(served: Served, headers: dict[str, str]) -> None:
    sent = noisy("j1")
    push(served, Sent("j1", document=sent))
    path, offset, length = stored(served)
    assert length > 1 << 20
    flip(path, offset + length - 3)
    with pytest.raises((urllib3.exceptions.ProtocolError, http.client.IncompleteRead)):
        trajectory(served, "j1", headers=headers)
