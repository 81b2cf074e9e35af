"""Streamed answers: codings, breaks and stalls, redirects without the key, and TLS that is never given up."""

from __future__ import annotations

import gzip
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from benchloop_client.client import Body, Client
from benchloop_client.errors import ApiError, AuthError, Cancelled, NetworkError, NotFound
from tests.support.certificates import self_signed
from tests.unit.client.conftest import KEY
from tests.unit.client.scripted import Answer, Asked, scripted

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Connect = Callable[..., Client]
DATA = bytes(range(256)) * 4000
ETAG = '"v1"'
RANGES = {"ETag": ETAG, "Accept-Ranges": "bytes"}


def always(answer: Answer) -> Callable[[Asked, Any], Answer]:
    return lambda asked, raw: answer


def read(connect: Connect, answer: Answer, **flags: Any) -> bytes:
    with scripted(always(answer)) as server, connect(server.address, **flags).job_artifact_stream("J") as stream:
        return stream.read()


def test_plain_bytes_with_their_length(connect: Connect) -> None:
    with scripted(always(Answer(200, DATA, RANGES))) as server, connect(server.address).job_artifact_stream("J") as stream:
        assert (stream.status, stream.length, stream.etag, stream.html) == (200, len(DATA), ETAG, False)
        assert stream.read() == DATA
        assert stream.received == len(DATA)


def test_the_connection_is_used_again_after_a_whole_body(connect: Connect) -> None:
    ports = set()

    def answer(asked: Asked, raw: Any) -> Answer:
        ports.add(raw.client_address[1])
        return Answer(200, DATA)

    with scripted(answer) as server:
        client = connect(server.address)
        for _ in range(3):
            with client.job_artifact_stream("J") as stream:
                stream.read()
    assert len(ports) == 1


def test_zstd_frames_one_after_another(connect: Connect) -> None:
    frames = b"".join(zstd.compress(DATA[at : at + 100_000]) for at in range(0, len(DATA), 100_000))
    answer = Answer(200, frames, {"Content-Encoding": "zstd"})
    with scripted(always(answer)) as server, connect(server.address).job_trajectory_stream("J") as stream:
        assert stream.length is None and stream.wire_length == len(frames)
        assert stream.read() == DATA
    assert "zstd" in server.asked[0].headers["accept-encoding"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw-deflate"])
def test_row_17_a_coded_body_is_measured_on_the_wire(connect: Connect, coding: str) -> None:
    raw = zlib.compressobj(wbits=-15)
    coded = {"gzip": gzip.compress(DATA), "deflate": zlib.compress(DATA), "raw-deflate": raw.compress(DATA) + raw.flush()}[coding]
    answer = Answer(200, coded, {"Content-Encoding": coding.removeprefix("raw-")})
    with scripted(always(answer)) as server, connect(server.address).job_trajectory_stream("J") as stream:
        assert stream.read() == DATA


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_a_coded_body_that_ends_too_early_never_passes(connect: Connect, coding: str) -> None:
    whole = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress}[coding](DATA)
    answer = Answer(200, whole[:-5], {"Content-Encoding": coding})
    with scripted(always(answer)) as server, connect(server.address).job_trajectory_stream("J") as stream, pytest.raises(NetworkError):
        stream.read()


def test_an_unknown_coding_never_passes(connect: Connect) -> None:
    with pytest.raises(NetworkError, match="coding"):
        read(connect, Answer(200, DATA, {"Content-Encoding": "br"}), retry=0)


def test_an_archive_labelled_as_coded_stays_an_archive(connect: Connect) -> None:
    archive = gzip.compress(DATA)
    assert read(connect, Answer(200, archive, {"Content-Encoding": "gzip"})) == archive
    assert read(connect, Answer(200, gzip.compress(archive), {"Content-Encoding": "gzip"})) == archive
    assert read(connect, Answer(200, archive)) == archive


@pytest.mark.parametrize("cut", [1, 1000, len(DATA) - 1])
def test_row_18_a_short_body_never_passes(connect: Connect, cut: int) -> None:
    with pytest.raises(NetworkError, match=f"after {cut} of {len(DATA)} bytes") as caught:
        read(connect, Answer(200, DATA[:cut], length=len(DATA)), retry=0)
    assert caught.value.broken_body


def test_a_chunked_body_without_its_end_never_passes(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> None:
        raw.close_connection = True
        raw.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwor")

    with (
        scripted(answer) as server,
        connect(server.address).job_artifact_stream("J") as stream,
        pytest.raises(NetworkError, match="broke off"),
    ):
        stream.read()


def test_a_dripping_body_counts_as_stalled(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> None:
        raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        for _ in range(100):
            raw.wfile.write(b"x")
            time.sleep(0.1)

    with scripted(answer) as server, connect(server.address, timeout=0.5, retry=0).job_artifact_stream("J") as stream:
        begun = time.monotonic()
        with pytest.raises(NetworkError, match="stalled"):
            stream.read()
        assert time.monotonic() - begun < 2


def test_a_broken_body_goes_on_where_it_stopped(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> Answer:
        start = int(asked.headers.get("range", "bytes=0-")[6:-1])
        part = DATA[start : start + 400_000]
        if start == 0:
            return Answer(200, part, RANGES, length=len(DATA))
        headers = {**RANGES, "Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"}
        return Answer(206, part, headers, length=len(DATA) - start)

    with scripted(answer) as server, connect(server.address).job_artifact_stream("J") as stream:
        assert stream.read() == DATA
    assert [asked.headers.get("if-range") for asked in server.asked] == [None, ETAG, ETAG]


@pytest.mark.parametrize("second", ["other version", "no ranges", "elsewhere", "gone"])
def test_another_version_is_never_spliced_on(connect: Connect, second: str) -> None:
    answers = {
        "other version": Answer(200, DATA, {**RANGES, "ETag": '"v2"'}),
        "no ranges": Answer(200, DATA, RANGES),
        "elsewhere": Answer(206, DATA[10:], {**RANGES, "Content-Range": f"bytes 10-{len(DATA) - 1}/{len(DATA)}"}),
        "gone": Answer(404),
    }

    def answer(asked: Asked, raw: Any) -> Answer:
        return answers[second] if "range" in asked.headers else Answer(200, DATA[:5000], RANGES, length=len(DATA))

    with (
        scripted(answer) as server,
        connect(server.address).job_artifact_stream("J") as stream,
        pytest.raises(NetworkError, match="broke off"),
    ):
        stream.read()


def test_retrying_starts_a_broken_stream_anew(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> Answer:
        return Answer(200, DATA, length=len(DATA) + (1 if len(server.asked) < 3 else 0))

    with scripted(answer) as server:
        client = connect(server.address)

        def whole() -> bytes:
            with client.job_artifact_stream("J") as stream:
                return stream.read()

        assert client.retrying(whole) == DATA
    assert len(server.asked) == 3


def test_downloads_are_asked_again_on_passing_errors(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> Answer:
        return Answer(200, DATA) if len(server.asked) == 3 else Answer(503)

    with scripted(answer) as server, connect(server.address).job_artifact_stream("J") as stream:
        assert stream.read() == DATA


def test_statuses_of_downloads(connect: Connect) -> None:
    for status, kind in ((401, AuthError), (404, NotFound), (403, ApiError)):
        with pytest.raises(kind):
            read(connect, Answer(status))


def test_not_changed(connect: Connect) -> None:
    with scripted(always(Answer(304, b""))) as server, connect(server.address).job_artifact_stream("J", etag=ETAG) as stream:
        assert stream.unchanged and stream.read() == b""
    assert server.asked[0].headers["if-none-match"] == ETAG


def test_the_key_does_not_follow_a_redirect_to_another_origin(connect: Connect) -> None:
    with scripted(always(Answer(200, DATA))) as store:
        hops = {"/openapi/jobs/J/artifacts/download": "/second", "/second": f"{store.address}/third"}
        with (
            scripted(lambda asked, raw: Answer(302, b"", {"Location": hops[asked.path]})) as server,
            connect(server.address).job_artifact_stream("J") as stream,
        ):
            assert stream.read() == DATA
    assert [asked.headers.get("x-api-key") for asked in server.asked] == [KEY, KEY]
    assert "x-api-key" not in store.asked[0].headers
    assert KEY not in str(store.asked[0])


def test_an_artifact_link_gets_the_key_only_at_home(connect: Connect) -> None:
    with scripted(always(Answer(200, DATA))) as store, scripted(always(Answer(200, DATA))) as server:
        client = connect(server.address)
        for link in (f"{store.address}/a.tgz?sig=1", "files/a.tgz?x=1", f"{server.address}/b"):
            with client.artifact_link_stream(link) as stream:
                assert stream.read() == DATA
    assert "x-api-key" not in store.asked[0].headers and store.asked[0].query == {"sig": "1"}
    assert [(asked.path, asked.headers["x-api-key"]) for asked in server.asked] == [("/files/a.tgz", KEY), ("/b", KEY)]


@pytest.mark.parametrize("link", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://u:p@127.0.0.1:9/x"])
def test_odd_artifact_links_are_refused(connect: Connect, link: str) -> None:
    with pytest.raises(ApiError):
        connect("http://127.0.0.1:9").artifact_link_stream(link)


def test_a_login_page_elsewhere_is_about_the_key(connect: Connect) -> None:
    page = Answer(200, b"<html>login</html>", {"Content-Type": "text/html; charset=utf-8"})
    with (
        scripted(always(page)) as login,
        scripted(always(Answer(302, b"", {"Location": f"{login.address}/"}))) as server,
        pytest.raises(AuthError, match="web page"),
    ):
        connect(server.address).job_artifact_stream("J")


def test_a_web_page_in_place_is_told_apart(connect: Connect) -> None:
    page = Answer(200, b"<html></html>", {"Content-Type": "text/html"})
    with scripted(always(page)) as server, connect(server.address).job_artifact_stream("J") as stream:
        assert stream.html


def test_redirects_come_to_an_end(connect: Connect) -> None:
    with scripted(always(Answer(302, b"", {"Location": "/again"}))) as server, pytest.raises(ApiError, match="more than 10"):
        connect(server.address).job_artifact_stream("J")
    assert len(server.asked) == 11


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user:pw@127.0.0.1:9/x", ""])
def test_redirects_to_odd_places_are_refused(connect: Connect, location: str) -> None:
    with scripted(always(Answer(302, b"", {"Location": location}))) as server, pytest.raises(ApiError) as caught:
        connect(server.address).job_artifact_stream("J")
    assert "pw" not in str(caught.value)


def test_an_untrusted_certificate_is_never_bypassed(connect: Connect) -> None:
    with (
        scripted(always(Answer(200, b"{}"))) as clear,
        scripted(always(Answer(200, b"{}")), self_signed().server_context()) as secure,
        pytest.raises(NetworkError, match="TLS"),
    ):
        connect(secure.address).job("J")
    assert secure.asked == [] and clear.asked == []


def test_a_trusted_certificate_works_and_is_not_downgraded(connect: Connect) -> None:
    trusted = {"SSL_CERT_FILE": str(self_signed().certificate)}
    with scripted(always(Answer(200, b"{}"))) as clear:
        down = Answer(302, b"", {"Location": f"{clear.address}/x"})
        answers = {"/openapi/jobs/J": Answer(200, b'{"x": 1}')}
        with scripted(lambda asked, raw: answers.get(asked.path, down), self_signed().server_context()) as secure:
            client = connect(secure.address, environ=trusted)
            assert client.job("J") == {"x": 1}
            with pytest.raises(ApiError, match="clear text"):
                client.job_artifact_stream("J")
    assert clear.asked == []


def test_a_plain_server_on_an_https_address_is_a_network_error(connect: Connect) -> None:
    with scripted(always(Answer(200, b"{}"))) as server, pytest.raises(NetworkError):
        connect(server.address.replace("http:", "https:"), retry=0).job("J")
    assert server.asked == []


def test_a_cancel_ends_a_stuck_body_within_a_second(connect: Connect) -> None:
    cancel = threading.Event()
    done = threading.Event()

    def answer(asked: Asked, raw: Any) -> None:
        raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        done.wait(20)

    with scripted(answer) as server, connect(server.address, cancel=cancel, timeout=60).job_artifact_stream("J") as stream:
        threading.Timer(0.3, cancel.set).start()
        begun = time.monotonic()
        with pytest.raises(Cancelled):
            stream.read()
        assert time.monotonic() - begun < 1.3
        done.set()


def test_bodies_are_streamed_up_and_sent_anew_on_a_retry(connect: Connect) -> None:
    def answer(asked: Asked, raw: Any) -> Answer:
        return Answer(503) if len(server.asked) == 1 else Answer(200, b'{"sha256": "s", "size": 3, "created": true}')

    with scripted(answer) as server:
        body = Body(len(DATA), lambda: iter([DATA[:1000], DATA[1000:]]), encoding="zstd")
        assert connect(server.address).upload_put("trajectory", "0" * 64, body).created
    assert [asked.body for asked in server.asked] == [DATA, DATA]
    assert server.asked[0].headers["content-encoding"] == "zstd"
    assert "transfer-encoding" not in server.asked[0].headers


@pytest.mark.parametrize("fault", ["no answer", "cut answer", "503"])
def test_before_a_body_is_repeated_it_is_asked_what_is_left_of_it(connect: Connect, fault: str) -> None:
    whole = b'{"sha256": "s", "size": 3, "created": true}'

    def answer(asked: Asked, raw: Any) -> Answer | None:
        if len(server.asked) > 1:
            return Answer(200, whole)
        if fault == "503":
            return Answer(503)
        if fault == "cut answer":
            raw.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + whole)
        return None

    with scripted(answer) as server:
        body = Body(len(DATA), lambda: [DATA], anew=lambda: Body.of(DATA[-9:]))
        assert connect(server.address).upload_put("archive", "0" * 64, body).created
    assert [asked.body for asked in server.asked] == [DATA, DATA[-9:]]


def test_where_nothing_is_left_of_a_body_nothing_is_sent_again(connect: Connect) -> None:
    def nothing() -> Body:
        raise LookupError("all there")

    with scripted(lambda asked, raw: None) as server, pytest.raises(LookupError):
        connect(server.address).upload_put("archive", "0" * 64, Body(len(DATA), lambda: [DATA], anew=nothing))
    assert len(server.asked) == 1
