"""Uploads over the wire: taken in whole, once, by hash, per workspace; anything hostile is refused and leaves nothing behind."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from benchloop_client.contract.compression import frame, zstd
from tests.support.pushing import END, Sent, archive, bundle, document, item, sha
from tests.support.served import Served, serving

FILES = archive({"log.txt": b"hello", "a/b.json": b"{}"})


def put(served: Served, kind: str, body: bytes, *, name: str | None = None, **options: object) -> object:
    """PUT one upload; (status, JSON)."""
    answer = served.request("PUT", f"/openapi/uploads/{kind}/{name or sha(body)}", body=body, **options)
    return answer.status, json.loads(answer.data)


def staged(served: Served) -> list[Path]:
    """Files that are still being received."""
    return list((served.data / "scratch").iterdir())


def missing(served: Served, kind: str, *names: str, workspace: str = "default") -> list[str]:
    """Which of these the server says it lacks."""
    answer = served.request("POST", "/openapi/uploads/check", json={"kind": kind, "sha256": list(names)}, workspace=workspace)
    assert answer.status == 200, answer.data
    found: list[str] = json.loads(answer.data)["missing"]
    return found


def test_a_bundle_is_taken_in_and_again_changes_nothing(served: Served) -> None:
    job = Sent("j1", document=document("j1", "g1"), archive=FILES, media={"a.png": ("image/png", b"\x89PNG")})
    first = json.loads(bundle(served, *job.items()).data)["results"]
    assert [result["created"] for result in first] == [True, True, True]
    assert [result["sha256"] for result in first] == [sha(FILES), sha(job.document or b""), sha(b"\x89PNG")]
    again = json.loads(bundle(served, *job.items()).data)["results"]
    assert [(result["sha256"], result["size"]) for result in again] == [(result["sha256"], result["size"]) for result in first]
    assert [result["created"] for result in again] == [False, False, False]
    assert staged(served) == []


def test_the_same_item_twice_in_a_bundle_is_created_once(served: Served) -> None:
    results = json.loads(bundle(served, item("archive", FILES), item("archive", FILES)).data)["results"]
    assert [result["created"] for result in results] == [True, False]


def test_an_empty_bundle_is_an_empty_answer(served: Served) -> None:
    assert json.loads(bundle(served).data) == {"results": []}


def test_put_is_idempotent(served: Served) -> None:
    expected = {"sha256": sha(FILES), "size": len(FILES)}
    assert put(served, "archive", FILES) == (200, {**expected, "created": True})
    assert put(served, "archive", FILES) == (200, {**expected, "created": False})


def test_put_of_a_compressed_trajectory(served: Served) -> None:
    plain = document("j1", "g1")
    status, answer = put(served, "trajectory", frame(plain), name=sha(plain), headers={"Content-Encoding": "zstd"})  # type: ignore[misc]
    assert (status, answer["size"], answer["created"]) == (200, len(plain), True)
    assert missing(served, "trajectory", sha(plain), sha(b"other")) == [sha(b"other")]


def test_uploads_are_per_workspace(served: Served) -> None:
    put(served, "archive", FILES)
    assert missing(served, "archive", sha(FILES)) == []
    assert missing(served, "archive", sha(FILES), workspace="other") == [sha(FILES)]
    assert put(served, "archive", FILES, workspace="other") == (200, {"sha256": sha(FILES), "size": len(FILES), "created": True})


def test_kinds_are_apart(served: Served) -> None:
    put(served, "media", FILES)
    assert missing(served, "archive", sha(FILES)) == [sha(FILES)]


def test_check_refuses_what_is_no_hash_and_too_many(served: Served) -> None:
    for names in (["x"], [sha(b"a").upper()], [sha(b"a")] * 2001):
        answer = served.request("POST", "/openapi/uploads/check", json={"kind": "media", "sha256": names})
        assert answer.status == 422
        assert json.loads(answer.data)["code"] == "unprocessable"


GOOD = document("j1", "g1")
REFUSED: dict[str, tuple[bytes, str]] = {
    "wrong hash": (item("archive", FILES, sha256=sha(b"x")), "SHA-256"),
    "size too small": (item("trajectory", GOOD, body=frame(GOOD), encoding="zstd", size=5), "announced"),
    "size too large": (item("trajectory", GOOD, body=frame(GOOD), encoding="zstd", size=10**6), "announced"),
    "not json": (item("trajectory", b"nope"), "refused"),
    "no stamp": (item("trajectory", GOOD.replace(b'"trajectory_id":"j1"', b'"trajectory_id":"j2"')), "extra.benchloop"),
    "no steps": (item("trajectory", b'{"schema_version":"ATIF-v1.8"}'), "refused"),
    "deep": (item("trajectory", b"[" * 100_000 + b"]" * 100_000), "refused"),
    "damaged zstd": (item("trajectory", GOOD, body=b"x" + frame(GOOD), encoding="zstd"), "zstd"),
    "cut zstd": (item("trajectory", GOOD, body=frame(GOOD)[:-5], encoding="zstd"), "middle of a frame"),
    "cut": (item("archive", FILES)[:-1], "1 bytes are missing"),
    "not an archive": (item("archive", b"hello"), "not gzip"),
    "archive leads out": (item("archive", archive({"../x": b"1"})), "leads out"),
    "archive goes on": (item("archive", FILES + END), "after its end"),
    "junk": (b"junk\n", "item 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_bundles_are_refused_and_leave_only_what_was_whole_before(served: Served, name: str) -> None:
    body, words = REFUSED[name]
    answer = bundle(served, item("media", b"before"), body)
    error = json.loads(answer.data)
    assert (answer.status, error["code"]) == (422, "unprocessable")
    assert words in error["error"]
    assert "\n" not in error["error"]
    assert missing(served, "media", sha(b"before")) == []
    assert missing(served, "archive", sha(FILES), sha(b"x")) == [sha(FILES), sha(b"x")]
    assert missing(served, "trajectory", sha(GOOD)) == [sha(GOOD)]
    assert staged(served) == []


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"archive/{sha(b'x')}", {}, 422),
        (f"cookie/{sha(FILES)}", {}, 404),
        ("archive/abc", {}, 400),
        (f"archive/{sha(FILES)}", {"Content-Encoding": "zstd"}, 422),
        (f"trajectory/{sha(FILES)}", {"Content-Encoding": "gzip"}, 422),
    ],
)
def test_bad_puts(served: Served, path: str, headers: dict[str, str], status: int) -> None:
    answer = served.request("PUT", f"/openapi/uploads/{path}", body=FILES, headers=headers)
    assert answer.status == status, answer.data


def zeros(size: int) -> bytes:
    """Zstd frames of `size` zero bytes."""
    return frame(bytes(1 << 20)) * (size >> 20)


def test_a_zstd_bomb_is_413(served: Served) -> None:
    bomb = zeros(300 << 20)
    assert len(bomb) < 100_000
    answer = bundle(served, item("trajectory", b"", body=bomb, encoding="zstd", size=1 << 20))
    assert answer.status == 422
    status, error = put(served, "trajectory", bomb, name=sha(b""), headers={"Content-Encoding": "zstd"})  # type: ignore[misc]
    assert (status, error["code"]) == (413, "too_large")
    assert staged(served) == []


def test_a_huge_window_is_refused(served: Served) -> None:
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.content_size_flag: 0}
    packer = zstd.ZstdCompressor(options=options)
    body = packer.compress(GOOD) + packer.flush()
    answer = bundle(served, item("trajectory", GOOD, body=body, encoding="zstd"))
    assert answer.status == 422


def test_an_announced_length_beyond_the_limit_is_413_at_once(served: Served) -> None:
    limit = served.services.limits.media_bytes
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as link:
        link.sendall(head(served, f"PUT /openapi/uploads/media/{sha(b'x')}", limit + 1))
        assert link.recv(100).startswith(b"HTTP/1.1 413")


def head(served: Served, line: str, length: int) -> bytes:
    """The head of a request as it goes over the wire."""
    return f"{line} HTTP/1.1\r\nHost: x\r\nX-API-Key: {served.key()}\r\nContent-Length: {length}\r\n\r\n".encode()


def send_half(served: Served, body: bytes) -> None:
    """Announce a whole bundle, send half of it, and hang up."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as link:
        link.sendall(head(served, "POST /openapi/uploads", len(body)) + body[: len(body) // 2])
        until(lambda: bool(staged(served)))
    until(lambda: not staged(served))


def until(condition: object) -> None:
    """Wait at most ten seconds for the condition."""
    for _ in range(500):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen within ten seconds")


def test_of_an_interrupted_bundle_what_was_whole_stays(served: Served) -> None:
    noise = os.urandom(8 << 20)
    send_half(served, item("media", b"small") + item("media", noise))
    assert missing(served, "media", sha(noise), sha(b"small")) == [sha(noise)]


def test_what_a_crash_left_is_swept_at_the_next_start(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        (first.data / "scratch" / "staged-00ff").write_bytes(b"left by a killed process")
        (first.data / "scratch" / "unrelated").write_bytes(b"not ours")
    with serving(tmp_path) as second:
        assert [path.name for path in staged(second)] == ["unrelated"]


def test_a_restart_does_not_sweep_what_another_process_receives(served: Served, tmp_path: Path) -> None:
    noise = os.urandom(8 << 20)
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as link:
        link.sendall(head(served, f"PUT /openapi/uploads/media/{sha(noise)}", len(noise)) + noise[: len(noise) // 2])
        until(lambda: bool(staged(served)))
        with serving(served.data):
            link.sendall(noise[len(noise) // 2 :])
            assert link.recv(100).startswith(b"HTTP/1.1 200")
    assert missing(served, "media", sha(noise)) == []


def test_many_uploads_of_the_same_bytes_at_once(served: Served) -> None:
    answers: list[object] = []
    served.key()
    threads = [threading.Thread(target=lambda: answers.append(put(served, "archive", FILES))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [status for status, _ in answers] == [200] * 8  # type: ignore[misc]
    assert sum(answer["created"] for _, answer in answers) == 1  # type: ignore[misc]
