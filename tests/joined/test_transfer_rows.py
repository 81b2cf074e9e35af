"""Real faults of other transfer tools, replayed against downloads of large files; a test is named after its row in the list of them."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchloop_client.actions import artifacts
from benchloop_client.actions.artifact_lists import Choice, Source
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.report import Report
from benchloop_client.actions.work import Work
from benchloop_client.client import Client
from benchloop_client.contract.version import KEY_HEADER
from benchloop_client.errors import ApiError, IntegrityError, NetworkError
from benchloop_client.settings import Flags, load
from benchloop_client.transfer import resume
from tests.support.programs import CANARY, Bl, leftovers
from tests.support.scripted import Answer, Scripted, Seen, error, of_json, scripted

_SIZE = 6 << 20
#: What may come twice beside a twentieth: a checkpoint's worth, and what was on its way.
_CHUNK = resume.EVERY_BYTES + (2 << 20)
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


def made(seed: int, size: int = _SIZE) -> bytes:
    """Bytes that begin as gzip does and that nothing compresses."""
    return b"\x1f\x8b" + random.Random(seed).randbytes(size - 2)


class File:
    """One artifact on a scripted server; `cut`: how many bytes of each answer arrive before it breaks off (None: all)."""

    def __init__(self, server: Scripted, job: str = "J1", data: bytes = b"", *, listed: bool = True) -> None:
        self.data = data or made(1)
        self.etag = '"a"'
        self.cut: int | None = None
        self.ranges = True
        self.shift = 0
        self.piece, self.pause = 0, 0.0
        self.refuse: Answer | None = None
        self.sent: list[tuple[int, int]] = []
        self._listed = listed
        server.on(f"GET /openapi/jobs/{job}/artifacts", lambda _seen: of_json({"artifacts": [self.entry(job)]}))
        server.on(f"GET /openapi/jobs/{job}/artifacts/download", self._answer)

    def becomes(self, data: bytes, etag: str) -> None:
        """Another version takes the place of this one."""
        self.data, self.etag, self.cut = data, etag, None

    def entry(self, job: str) -> dict[str, object]:
        """The file as the list has it."""
        known = {"size": len(self.data), "sha256": hashlib.sha256(self.data).hexdigest()} if self._listed else {}
        return {"name": f"{job}.tgz", "url": f"/openapi/jobs/{job}/artifacts/download", **known}

    def _answer(self, seen: Seen) -> Answer:
        wanted = _RANGE.fullmatch(seen.headers.get("range", ""))
        if wanted and self.refuse is not None:
            return self.refuse
        start = max(0, int(wanted[1]) - self.shift) if wanted else 0
        stop = int(wanted[2]) + 1 if wanted and wanted[2] else len(self.data)
        headers = {"Content-Type": "application/gzip", "ETag": self.etag, "Accept-Ranges": "bytes"}
        if not wanted or not self.ranges or seen.headers.get("if-range", self.etag) != self.etag:
            return self._sent(Answer(200, self.data, headers), 0)
        if int(wanted[1]) >= len(self.data):
            return Answer(416, b"", {"Content-Range": f"bytes */{len(self.data)}"})
        place = f"bytes {start}-{stop - 1}/{len(self.data)}"
        return self._sent(Answer(206, self.data[start:stop], {**headers, "Content-Range": place}), start)

    def _sent(self, answer: Answer, start: int) -> Answer:
        cut = self.cut
        self.sent.append((start, len(answer.body) if cut is None else min(cut, len(answer.body))))
        return Answer(answer.status, answer.body, answer.headers, sent=cut, piece=self.piece, pause=self.pause)

    @property
    def volume(self) -> int:
        """How many bytes were sent in all."""
        return sum(count for _, count in self.sent)


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that is no Benchloop server of ours."""
    with scripted() as running:
        yield running


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where files go."""
    return tmp_path / "out"


Fetch = Callable[..., Report]


@pytest.fixture
def fetch(server: Scripted, out: Path) -> Fetch:
    """Downloads the artifacts of jobs as `bl artifacts download -j` does, in this process."""

    def run(*jobs: str, retry: int = 0, **flags: object) -> Report:
        settings = load(Flags(host=server.origin, api_key=CANARY, timeout=5.0, retry=retry, **flags), {"HOME": "/nonexistent"})  # type: ignore[arg-type]
        with Client(settings) as client, Destination(out, layout=Layout(), run="rows") as destination:
            return artifacts.download(Work(client), Source(jobs=jobs or ("J1",)), destination, choice=Choice())

    return run


def target(out: Path, job: str = "J1") -> Path:
    """Where the artifact of a job comes to stand."""
    return out / job / f"{job}.tgz"


def parts(out: Path) -> list[Path]:
    """The parts that are kept."""
    return sorted((out / ".benchloop" / "parts").glob("*.part"))


def broken(file: File, fetch: Fetch, at: int = _SIZE // 2) -> None:
    """One try that breaks off after `at` bytes, for good."""
    file.cut, file.ranges = at, False
    report = fetch()
    assert isinstance(report.failures[0].error, NetworkError)
    file.cut, file.ranges = None, True
    file.sent.clear()


def test_what_broke_off_goes_on_where_it_stopped(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    broken(file, fetch)
    assert [path.stat().st_size >= _SIZE // 3 for path in parts(out)] == [True]
    assert not target(out).exists()
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    assert file.sent[0][0] >= _SIZE // 3
    assert len(file.sent) == 1
    assert leftovers(out) == []


@pytest.mark.parametrize("size", [_SIZE, _SIZE + 99_999, _SIZE - 99_999])
@pytest.mark.parametrize("listed", [True, False])
def test_row_01_another_version_is_fetched_from_its_beginning(server: Scripted, fetch: Fetch, out: Path, size: int, listed: bool) -> None:
    file = File(server, listed=listed)
    broken(file, fetch)
    file.becomes(made(2, size), '"b"')
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    assert leftovers(out) == []


@pytest.mark.parametrize("status", [403, 500, 503, 416])
def test_row_02_a_refused_range_leaves_the_part_alone(server: Scripted, fetch: Fetch, out: Path, status: int) -> None:
    file = File(server)
    broken(file, fetch)
    before = [path.read_bytes() for path in parts(out)]
    file.refuse = error(status)
    if status == 416:  # then the whole is asked for; it does not come either
        server.on("GET /openapi/jobs/J1/artifacts/download", lambda _seen: error(416))
    assert isinstance(fetch().failures[0].error, ApiError)
    assert [path.read_bytes() for path in parts(out)] == before != []
    assert not target(out).exists()


@pytest.mark.parametrize("left", [0, 1, _SIZE - 1])
def test_row_03_a_file_that_became_shorter_is_fetched_again(server: Scripted, fetch: Fetch, out: Path, left: int) -> None:
    file = File(server)
    assert fetch().ok
    os.truncate(target(out), left)
    assert fetch().ok
    assert target(out).read_bytes() == file.data


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_row_04_a_killed_run_is_completed_by_the_next(server: Scripted, tmp_path: Path, out: Path, how: signal.Signals, seed: int) -> None:
    dice = random.Random(seed)
    file = File(server, data=made(seed, 24 << 20))
    file.piece, file.pause = 1 << 18, 0.01
    bl = Bl(tmp_path, server.origin)
    argv = ("artifacts", "download", "-j", "J1", "-o", str(out))
    running = bl.start(*argv)
    time.sleep(dice.uniform(0.5, 1.6))
    running.send_signal(how)
    running.communicate(timeout=20)
    assert not target(out).exists() or target(out).read_bytes() == file.data
    file.pause = 0.0
    again = bl(*argv)
    assert again.code == 0, again
    assert target(out).read_bytes() == file.data
    assert leftovers(out) == []
    if how is signal.SIGINT and len(file.sent) > 1:
        assert file.sent[-1][0] > 0 or file.sent[0] == file.sent[-1]


def test_row_05_a_server_that_ignores_ranges_starts_the_file_anew(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    broken(file, fetch)
    file.ranges = False
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    assert leftovers(out) == []


@pytest.mark.parametrize("shift", [512, _SIZE])
def test_row_07_an_answer_that_begins_earlier_is_not_doubled(server: Scripted, fetch: Fetch, out: Path, shift: int) -> None:
    file = File(server)
    broken(file, fetch)
    file.shift = shift
    assert fetch().ok
    assert target(out).read_bytes() == file.data


def test_row_09_a_part_that_is_complete_is_checked_and_named(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    store = resume.Parts(out)
    with store.open("artifact J1 J1.tgz", "J1/J1.tgz") as part:
        part.begin(etag='"a"', total=_SIZE)
        part.write(file.data)
        part.checkpoint(_SIZE, force=True)
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    assert file.sent == []
    assert leftovers(out) == []


def test_row_09_a_complete_part_with_other_bytes_is_fetched_once_more(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    with resume.Parts(out).open("artifact J1 J1.tgz", "J1/J1.tgz") as part:
        part.begin(etag='"a"', total=_SIZE)
        part.write(made(9))
        part.checkpoint(_SIZE, force=True)
    assert fetch().ok
    assert target(out).read_bytes() == file.data


def test_row_10_three_processes_share_an_output_directory(server: Scripted, tmp_path: Path, out: Path) -> None:
    file = File(server, data=made(4, 8 << 20))
    file.piece, file.pause = 1 << 18, 0.02
    bl = Bl(tmp_path, server.origin)
    running = [bl.start("artifacts", "download", "-j", "J1", "-o", str(out)) for _ in range(3)]
    ended = [process.communicate(timeout=60) and process.returncode for process in running]
    assert ended == [0, 0, 0]
    assert target(out).read_bytes() == file.data
    assert leftovers(out) == []


def test_a_large_file_over_a_slow_line_comes_over_several_connections(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server, data=made(6, 33 << 20))
    file.piece, file.pause = 1 << 18, 0.03
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    asked = [seen.headers["range"] for seen in server.asked("/download") if "range" in seen.headers]
    assert asked
    assert all(_RANGE.fullmatch(text)[2] for text in asked)  # type: ignore[index]
    assert leftovers(out) == []


def test_row_12_a_large_file_whose_end_never_comes_is_not_named(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server, data=made(7, 33 << 20))
    broken(file, fetch, at=16 << 20)
    file.cut = 0
    assert not fetch().ok
    assert not target(out).exists()
    file.cut = None
    file.sent.clear()
    assert fetch().ok
    assert target(out).read_bytes() == file.data
    assert file.volume <= (17 << 20) + _CHUNK


def test_row_11_a_good_file_stays_until_the_new_one_is_whole(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    assert fetch().ok
    old = file.data
    file.becomes(made(5), '"b"')
    file.cut, file.ranges = _SIZE // 2, False
    assert not fetch().ok
    assert target(out).read_bytes() == old


def test_a_whole_that_has_another_digest_is_never_named(server: Scripted, fetch: Fetch, out: Path) -> None:
    file = File(server)
    wrong = bytearray(file.data)
    wrong[_SIZE // 2] ^= 1
    listed = of_json(
        {"artifacts": [{"name": "J1.tgz", "url": "/openapi/jobs/J1/artifacts/download", "sha256": hashlib.sha256(wrong).hexdigest()}]}
    )
    server.on("GET /openapi/jobs/J1/artifacts", listed)
    assert isinstance(fetch().failures[0].error, IntegrityError)
    assert not target(out).exists()
    assert leftovers(out) == []


def test_row_14_a_crowd_that_is_refused_for_a_while_gets_through(server: Scripted, fetch: Fetch) -> None:
    jobs = [f"J{number:02}" for number in range(32)]
    files = {job: File(server, job, made(1, 3000)) for job in jobs}
    opens_at = time.monotonic() + 3

    def listed(seen: Seen) -> Answer:
        job = seen.path.split("/")[3]
        return error(429) if time.monotonic() < opens_at else of_json({"artifacts": [files[job].entry(job)]})

    server.on("GET /openapi/jobs/{job}/artifacts", listed)
    report = fetch(*jobs, retry=2, concurrency=32)
    assert report.ok, report.failures[:3]
    assert len(server.asked("/artifacts")) - len(server.asked("/download")) < 2 * len(jobs)


def test_row_13_the_pause_that_the_server_asks_for_is_kept_by_all(server: Scripted, fetch: Fetch) -> None:
    began = time.monotonic()
    server.on("GET /openapi/jobs/{job}/artifacts", lambda _seen: error(429, Retry_After="2"))
    fetch(*[f"J{number:02}" for number in range(8)], retry=1, concurrency=8)
    early = [seen for seen in server.asked("/artifacts") if seen.at - began < 2]
    assert 0 < len(early) <= 8


def test_row_35_resets_and_closed_connections_cost_no_item(server: Scripted, fetch: Fetch) -> None:
    dice = random.Random(35)
    jobs = [f"J{number:03}" for number in range(128)]
    data = made(1, 20_000)

    def answer(seen: Seen) -> Answer:
        if dice.random() < 0.05:
            return Answer(200, data, {"Content-Type": "application/gzip"}, sent=dice.randrange(len(data)), reset=True)
        return Answer(200, data, {"Content-Type": "application/gzip", "Connection": dice.choice(["close", "keep-alive"])})

    for job in jobs:
        File(server, job, data)
    server.on("GET /openapi/jobs/{job}/artifacts/download", answer)
    report = fetch(*jobs, retry=5, concurrency=64)
    assert report.ok, report.failures[:3]


def test_nothing_is_tried_for_ever_where_there_is_no_server(server: Scripted, tmp_path: Path) -> None:
    port = server.port
    server.stop()
    ids = tmp_path / "ids"
    ids.write_text("".join(f"J{number}\n" for number in range(1000)), "ascii")
    ran = Bl(tmp_path, f"http://127.0.0.1:{port}")("--retry", "0", "artifacts", "download", "-j", f"@{ids}", "-o", str(tmp_path / "out"))
    assert ran.code == 4
    assert ran.err.count("cannot connect") >= 10
    assert ran.err.count("not tried") > 900
    assert ran.seconds < 20


@pytest.mark.parametrize("option", [("--timeout", "1"), ("--deadline", "2")])
def test_b8_a_server_that_drips_ends_the_command(server: Scripted, tmp_path: Path, option: tuple[str, str]) -> None:
    file = File(server)
    file.piece, file.pause = (1, 0.2) if option[0] == "--timeout" else (2000, 0.1)
    ran = Bl(tmp_path, server.origin)(*option, "--retry", "0", "artifacts", "download", "-j", "J1", "-o", str(tmp_path / "out"), timeout=15)
    assert ran.code == 4, ran
    assert ran.seconds < 8


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_row_20_a_full_disk_stops_at_once_and_says_what_is_needed(server: Scripted, tmp_path: Path) -> None:
    out = tmp_path / "small"
    out.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(out)], capture_output=True, check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        jobs = [f"J{number:02}" for number in range(40)]
        for job in jobs:
            File(server, job, made(1, 900_000))
        File(server, "J00", made(2, 12 << 20))
        argv = ("--concurrency", "2", "artifacts", "download", "-j", ",".join(jobs), "-o", str(out))
        ran = Bl(tmp_path, server.origin)(*argv)
        assert ran.code == 1, ran
        assert "no space left" in ran.err
        assert re.search(r"\d+ bytes needed, \d+ bytes free", ran.err)
        fetched = {seen.path for seen in server.asked("/download")}
        assert len(fetched) < 20
        lines = (out / ".benchloop" / "journal.jsonl").read_text("utf-8").splitlines()
        assert all(json.loads(line) for line in lines[:-1])
    finally:
        subprocess.run(["umount", "-l", str(out)], check=False)


@pytest.mark.parametrize("size", [5000, _SIZE])
def test_an_archive_of_our_server_is_checked_without_a_list(server: Scripted, fetch: Fetch, out: Path, size: int) -> None:
    server.on("GET /openapi/version", of_json({"server": "benchloop-server", "version": "1.0.0", "api": 1, "features": []}))
    file = File(server, data=made(1, size))
    file.etag = f'"{hashlib.sha256(file.data).hexdigest()}"'
    assert fetch().ok
    assert [seen.path for seen in server.asked()] == ["/openapi/jobs/J1/artifacts/download"]
    target(out).unlink()
    file.data = made(2, size)
    assert isinstance(fetch().failures[0].error, IntegrityError)
    assert not target(out).exists()


def test_the_key_goes_along_and_nowhere_else(server: Scripted, fetch: Fetch, out: Path) -> None:
    File(server)
    assert fetch().ok
    assert {seen.headers.get(KEY_HEADER.lower()) for seen in server.asked()} == {CANARY}
    assert all(CANARY.encode() not in path.read_bytes() for path in out.rglob("*") if path.is_file())
