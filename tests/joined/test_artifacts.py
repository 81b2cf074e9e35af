"""E25 to E27 and the files inside an archive, over the wire: exact bytes, ranges, single files, and nothing of another workspace."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
import urllib3

from tests.support.pushing import Sent, archive, document, push, sha
from tests.support.served import Served, serving

FILES = {"agent/log.txt": b"hello\n" * 400, "empty": b"", "noise.bin": os.urandom(3_000_000), "ü n&i?.json": b"{}"}
ARCHIVE = archive(FILES)
URL = "/openapi/jobs/j1/artifacts/download"


@pytest.fixture
def pushed(served: Served) -> Served:
    """A server with a job that has files and one that has none."""
    push(served, Sent("j1", archive=ARCHIVE), Sent("j2"))
    return served


def get_json(served: Served, path: str, **options: object) -> dict[str, object]:
    """The decoded answer of a GET that succeeds."""
    answer = served.get(path, **options)
    assert answer.status == 200, answer.data
    found: dict[str, object] = json.loads(answer.data)
    return found


def test_one_artifact_is_listed(pushed: Served) -> None:
    found = get_json(pushed, "/openapi/jobs/j1/artifacts")
    entry = {"name": "j1.tgz", "url": URL, "error_code": None, "size": len(ARCHIVE), "sha256": sha(ARCHIVE), "members": 4}
    assert found == {"job_id": "j1", "artifacts": [{**entry, "etag": f'"{sha(ARCHIVE)}"'}]}


def test_none_is_one_entry_that_says_so(pushed: Served) -> None:
    (entry,) = get_json(pushed, "/openapi/jobs/j2/artifacts")["artifacts"]  # type: ignore[misc]
    assert (entry["name"], entry["url"], entry["error_code"]) == ("j2.tgz", "", "no_artifact")
    assert pushed.get("/openapi/jobs/j2/artifacts/download").status == 404
    assert pushed.get("/openapi/jobs/j2/artifacts/members").status == 404


def test_the_archive_is_what_was_sent(pushed: Served) -> None:
    answer = pushed.get(URL)
    assert answer.data == ARCHIVE
    assert answer.headers["content-type"] == "application/gzip"
    assert int(answer.headers["content-length"]) == len(ARCHIVE)
    assert "content-encoding" not in answer.headers
    assert answer.headers["etag"] == f'"{sha(ARCHIVE)}"'
    assert answer.headers["content-disposition"].startswith('attachment; filename="j1.tgz"')
    with tarfile.open(fileobj=io.BytesIO(answer.data)) as tar:
        assert {name: tar.extractfile(name).read() for name in tar.getnames()} == FILES  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("0-0", 0, 1), ("100-1048580", 100, 1048581), ("2000000-", 2_000_000, None), ("-7", -7, None), ("5-999999999999", 5, None)],
)
def test_ranges(pushed: Served, asked: str, start: int, stop: int | None) -> None:
    answer = pushed.get(URL, headers={"Range": f"bytes={asked}"})
    assert (answer.status, answer.data) == (206, ARCHIVE[start:stop])
    first = start % len(ARCHIVE)
    assert answer.headers["content-range"] == f"bytes {first}-{first + len(answer.data) - 1}/{len(ARCHIVE)}"


def test_a_range_behind_the_end_is_416(pushed: Served) -> None:
    answer = pushed.get(URL, headers={"Range": f"bytes={len(ARCHIVE)}-"})
    assert (answer.status, answer.headers["content-range"]) == (416, f"bytes */{len(ARCHIVE)}")
    assert json.loads(answer.data)["code"] == "range_not_satisfiable"


@pytest.mark.parametrize("asked", ["bytes=1-2,4-5", "bytes=x", "lines=1-2", "bytes=5-1", "bytes=-", "bytes=--5"])
def test_ranges_that_are_not_served_give_the_whole(pushed: Served, asked: str) -> None:
    answer = pushed.get(URL, headers={"Range": asked})
    assert (answer.status, len(answer.data)) == (200, len(ARCHIVE))


def test_if_range_and_if_none_match(pushed: Served) -> None:
    tag = f'"{sha(ARCHIVE)}"'
    assert pushed.get(URL, headers={"Range": "bytes=1-2", "If-Range": tag}).status == 206
    assert pushed.get(URL, headers={"Range": "bytes=1-2", "If-Range": '"old"'}).status == 200
    assert pushed.get(URL, headers={"Range": "bytes=1-2", "If-Range": f"W/{tag}"}).status == 200
    assert pushed.get(URL, headers={"If-None-Match": tag}).status == 304


def test_members_and_single_files(pushed: Served) -> None:
    found = get_json(pushed, "/openapi/jobs/j1/artifacts/members")
    assert found["total"] == 4
    assert {each["path"]: each["size"] for each in found["members"]} == {name: len(data) for name, data in FILES.items()}  # type: ignore[attr-defined]
    for name, data in FILES.items():
        answer = pushed.get(f"/openapi/jobs/j1/artifacts/member?path={quote(name, safe='')}")
        assert (answer.status, answer.data) == (200, data)
        assert int(answer.headers["content-length"]) == len(data)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_member_by_its_place_is_a_range_of_the_archive(pushed: Served) -> None:
    members = get_json(pushed, "/openapi/jobs/j1/artifacts/members")["members"]
    for each in members:  # type: ignore[attr-defined]
        part = pushed.get(URL, headers={"Range": f"bytes={each['offset']}-{each['offset'] + each['length'] - 1}"})
        assert part.status == 206
        with tarfile.open(fileobj=io.BytesIO(part.data)) as tar:
            assert tar.getnames() == [each["path"]]


@pytest.mark.parametrize("path", ["nope", "", "../../etc/passwd", "agent", "agent/log.txt/", "%00"])
def test_unknown_members_are_refused(pushed: Served, path: str) -> None:
    assert pushed.get(f"/openapi/jobs/j1/artifacts/member?path={path}").status in {400, 404}


def test_another_workspace_sees_nothing(pushed: Served) -> None:
    for path in ("", "/download", "/members", "/member?path=empty"):
        assert pushed.get(f"/openapi/jobs/j1/artifacts{path}", workspace="other").status == 404
    assert pushed.get("/openapi/groups/g1/artifacts", workspace="other").status == 404


def test_a_groups_list_is_paged(served: Served) -> None:
    push(served, *[Sent(f"j{n}", archive=archive({"n": b"%d" % n})) for n in range(7)], Sent("none"))
    for follow in ("cursor", "skip"):
        found: list[str] = []
        query = ""
        for _ in range(10):
            page = get_json(served, f"/openapi/groups/g1/artifacts?limit=3{query}")
            assert page["total"] == 7
            found += [each["job_id"] for each in page["artifacts"]]  # type: ignore[attr-defined]
            if page["next_cursor"] is None:
                break
            query = f"&cursor={page['next_cursor']}" if follow == "cursor" else f"&skip={len(found)}"
        assert found == [f"j{n}" for n in range(7)]
    assert served.get("/openapi/groups/g1/artifacts?cursor=zzz").status == 400
    assert served.get("/openapi/groups/nope/artifacts").status == 404


def blob(served: Served) -> Path:
    """The file that holds the archive."""
    return next(path for path in (served.data / "blobs").rglob(sha(ARCHIVE)))


def whole(served: Served, path: str, **options: object) -> bool:
    """Whether a complete success came back."""
    try:
        return served.get(path, **options).status in {200, 206}
    except urllib3.exceptions.ProtocolError:
        return False


def test_a_flipped_byte_never_arrives_as_complete(pushed: Served) -> None:
    path, at = blob(pushed), 1_500_000
    path.write_bytes(ARCHIVE[:at] + bytes([ARCHIVE[at] ^ 1]) + ARCHIVE[at + 1 :])
    assert not whole(pushed, URL)
    assert not whole(pushed, "/openapi/jobs/j1/artifacts/member?path=noise.bin")
    assert not whole(pushed, URL, headers={"Range": "bytes=1400000-1600000"})
    assert whole(pushed, URL, headers={"Range": "bytes=0-1000"})
    assert whole(pushed, "/openapi/jobs/j1/artifacts/member?path=empty")


def test_a_missing_blob_is_500_with_its_code(pushed: Served) -> None:
    blob(pushed).unlink()
    for options in ({}, {"headers": {"Range": "bytes=0-10"}}):
        answer = pushed.get(URL, **options)
        assert (answer.status, json.loads(answer.data)["code"]) == (500, "data_damaged")


def test_an_object_store_serves_the_same(tmp_path: Path) -> None:
    with serving(tmp_path, blobs="memory:") as served:
        sent = document("j1", "g1", steps=50)
        push(served, Sent("j1", archive=ARCHIVE, document=sent))
        assert served.get(URL).data == ARCHIVE
        assert served.get(URL, headers={"Range": "bytes=1048570-2097160"}).data == ARCHIVE[1048570:2097161]
        assert served.get("/openapi/jobs/j1/artifacts/member?path=agent/log.txt").data == FILES["agent/log.txt"]
        assert served.get("/openapi/jobs/j1/trajectory").data == sent
        assert served.get("/openapi/groups/g1/trajectory/lines").data == sent + b"\n"
