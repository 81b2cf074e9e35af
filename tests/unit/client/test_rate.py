"""The limit on bytes a second: exact on a scripted clock, for one thread and for many, and felt over a real connection."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchloop_client._rate import Traffic, parse_rate
from benchloop_client.client import Body, Client
from benchloop_client.settings import Flags, load
from tests.support.scripted import Answer, Scripted, Seen, of_json, scripted


class _Clock:
    """Time passes only while somebody waits; several who wait at once wait side by side."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        with self._lock:
            self.now = max(self.now, until)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("limit", [10_000, 500_000, 20_000_000])
def test_bytes_come_at_the_rate_that_was_asked_for(limit: int, threads: int) -> None:
    clock = _Clock()
    traffic = Traffic(limit, clock=clock, wait=clock.wait)
    pieces = 10 * limit // traffic.piece

    def take(_index: int) -> None:
        traffic.took(traffic.piece)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(take, range(pieces)))
    assert traffic.received / (clock.now - 1000.0) == pytest.approx(limit, rel=0.15)


def test_both_directions_share_the_limit_and_what_leaves_is_cut_into_pieces() -> None:
    clock = _Clock()
    traffic = Traffic(100_000, clock=clock, wait=clock.wait)
    parts = list(traffic.sending([b"a" * 150_000, b"", b"b"]))
    traffic.took(50_000)
    assert b"".join(parts) == b"a" * 150_000 + b"b"
    assert max(map(len, parts)) == traffic.piece == 10_000
    assert (traffic.sent, traffic.received) == (150_001, 50_000)
    assert clock.now - 1000.0 == pytest.approx(2.0, rel=0.15)


def test_an_idle_connection_saves_up_no_more_than_a_moment() -> None:
    clock = _Clock()
    traffic = Traffic(1000, clock=clock, wait=clock.wait)
    clock.now += 3600
    begun = clock.now
    traffic.took(5000)
    assert clock.now - begun == pytest.approx(5, rel=0.15)


def test_without_a_limit_nobody_waits_and_bytes_are_counted() -> None:
    traffic = Traffic(wait=lambda _seconds: pytest.fail("waited"))
    traffic.took(1 << 30)
    assert list(traffic.sending([b"abc"])) == [b"abc"]
    assert (traffic.received, traffic.sent) == (1 << 30, 3)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("800", 800), ("500k", 5e5), ("2M", 2e6), ("1.5g", 1.5e9), (".5m", 5e5), ("10kB", 1e4), ("3MB/s", 3e6), (" 7k ", 7000)],
)
def test_rates_are_decimal_as_sizes_are_shown(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "k", "0", "0k", "-5k", "1e6", "2 M", "5t", "nan", "inf", "1k2", "٣k"])
def test_what_is_no_rate_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ValueError, match="no rate"):
        parse_rate(text)


def _client(server: Scripted, rate: float | None) -> Client:
    return Client(load(Flags(host=server.origin, limit_rate=rate), {"HOME": "/nonexistent"}))


def test_a_download_over_loopback_takes_as_long_as_the_limit_says() -> None:
    with scripted() as server:
        server.on("GET /openapi/jobs/{job}/artifacts/download", Answer(200, b"x" * 400_000))
        with _client(server, 400_000) as client:
            begun = time.monotonic()
            with ThreadPoolExecutor(2) as pool:
                sizes = list(pool.map(lambda job: len(client.job_artifact_stream(job).read()), ["J1", "J2"]))
            took = time.monotonic() - begun
    assert sizes == [400_000, 400_000]
    assert 1.7 <= took <= 6
    assert client.moved_bytes() == 800_000


def test_a_cancelled_transfer_does_not_wait_for_its_turn() -> None:
    with scripted() as server:
        server.on("GET /openapi/jobs/{job}/artifacts/download", Answer(200, b"x" * 100_000))
        with _client(server, 100) as client:
            threading.Timer(0.3, client.cancel.set).start()
            begun = time.monotonic()
            with pytest.raises(Exception, match="cancelled"):
                client.job_artifact_stream("J1").read()
    assert time.monotonic() - begun < 3


def test_uploads_arrive_whole_under_a_limit() -> None:
    bodies: list[bytes] = []

    def taken(seen: Seen) -> Answer:
        bodies.append(seen.body)
        return of_json({"kind": "archive", "sha256": seen.path_ids["sha"], "size": len(seen.body), "created": True})

    with scripted() as server:
        server.on("PUT /openapi/uploads/archive/{sha}", taken)
        with _client(server, 300_000) as client:
            begun = time.monotonic()
            client.upload_put("archive", "0" * 64, Body.of(b"y" * 150_000))
    assert bodies == [b"y" * 150_000]
    assert time.monotonic() - begun > 0.3
