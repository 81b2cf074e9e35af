"""JSON calls: what is sent, which answers are errors and of which kind, what is asked again and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import count
from typing import Any

import pytest

from benchloop_client._answers import transport_fault
from benchloop_client._connect import Unreached
from benchloop_client._retry import Retryable
from benchloop_client.addresses import Origin
from benchloop_client.client import Client
from benchloop_client.contract.resources import DownloadTaskCreate, UploadsCheck
from benchloop_client.errors import ApiError, AuthError, Cancelled, NetworkError, NotFound, UsageError
from tests.unit.client.conftest import KEY
from tests.unit.client.scripted import Answer, Asked, Scripted, as_json, scripted

Connect = Callable[..., Client]
HTML = Answer(200, b"<!doctype html><html>secret page</html>", {"Content-Type": "text/html"})


def in_turn(*answers: Answer) -> Callable[[Asked, Any], Answer]:
    """Answer with each in turn, the last one for ever."""
    number = count()
    return lambda asked, raw: answers[min(next(number), len(answers) - 1)]


def failing(connect: Connect, answer: Answer, kind: type[Exception], **flags: Any) -> str:
    with scripted(in_turn(answer)) as server:
        with pytest.raises(kind) as caught:
            connect(server.address, retry=0, **flags).group("G1")
        assert type(caught.value) is kind
    assert KEY not in str(caught.value) and "<" not in str(caught.value)
    return str(caught.value)


def test_what_a_request_carries(connect: Connect) -> None:
    with scripted(in_turn(as_json({"x": 1}))) as server:
        assert connect(f"{server.address}/pre/").job("a/b c?") == {"x": 1}
    asked = server.asked[0]
    assert asked.path == "/pre/openapi/jobs/a%2Fb%20c%3F"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["user-agent"].startswith("benchloop-client/")
    assert asked.headers["accept"] == "application/json"


def test_no_key_no_header(connect: Connect) -> None:
    with scripted(in_turn(as_json({}))) as server:
        connect(server.address, api_key=None).job("J")
    assert "x-api-key" not in server.asked[0].headers


def test_filters_that_are_empty_are_not_sent(connect: Connect) -> None:
    with scripted(in_turn(as_json({}))) as server:
        connect(server.address).jobs_page("G", skip=5, limit=7, filters={"status": "", "template": "é&", "reward_valid": False})
    assert server.asked[0].query == {"group_id": "G", "skip": "5", "limit": "7", "template": "é&", "reward_valid": "false"}


@pytest.mark.parametrize("bad", ["", ".", "..", "a\0b"])
def test_ids_that_would_change_the_path_are_not_asked_for(connect: Connect, bad: str) -> None:
    with pytest.raises(UsageError):
        connect("http://127.0.0.1:9").job(bad)


def test_connections_are_kept(connect: Connect) -> None:
    ports = set()

    def answer(asked: Asked, raw: Any) -> Answer:
        ports.add(raw.client_address[1])
        return as_json({})

    with scripted(answer) as server:
        client = connect(server.address)
        for _ in range(5):
            client.job("J")
    assert len(ports) == 1


def test_401_is_about_the_key(connect: Connect) -> None:
    assert "API key" in failing(connect, as_json({"error": f"bad key {KEY}"}, 401), AuthError)


def test_errors_keep_the_sentence_the_code_and_the_request(connect: Connect) -> None:
    answer = as_json({"error": "no group 'G1'", "code": "not_found", "request_id": "r-7"}, 404)
    assert failing(connect, answer, NotFound) == "API error 404: no group 'G1' (request r-7)"


@pytest.mark.parametrize("body", [b"", b"<html>x</html>", b"\xff\x00", b"[1]", b'{"error": 3}', b'{"detail": []}'])
def test_any_other_error_body_gives_a_plain_sentence(connect: Connect, body: bytes) -> None:
    assert failing(connect, Answer(403, body), ApiError) == "API error 403: not allowed"


def test_a_server_that_echoes_the_key_does_not_make_us_print_it(connect: Connect) -> None:
    key = "unusual.key+with/signs"
    with (
        scripted(in_turn(as_json({"error": f"{key} and unusual.key%2Bwith%2Fsigns"}, 400))) as server,
        pytest.raises(ApiError, match=r"\*\*\* and \*\*\*"),
    ):
        connect(server.address, api_key=key).job("J")


def test_a_web_page_is_not_json(connect: Connect) -> None:
    assert failing(connect, HTML, ApiError) == "API error 200: server answered a web page, not JSON"


def test_broken_json_is_an_api_error(connect: Connect) -> None:
    assert "not usable JSON" in failing(connect, Answer(200, b'{"a": '), ApiError)
    assert "deep" in failing(connect, Answer(200, b"[" * 200_000 + b"]" * 200_000), ApiError)


def test_what_json_should_not_hold_is_let_through(connect: Connect) -> None:
    with scripted(in_turn(Answer(200, b'\xef\xbb\xbf{"a": NaN, "b": "\\ud83d", "c": 123456789012345678901234567890}'))) as server:
        value = connect(server.address).job("J")
    assert value["a"] != value["a"]
    assert (value["b"], value["c"]) == ("\ud83d", 123456789012345678901234567890)


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("https://login.example.com/", AuthError),
        ("/sso/login?next=/", AuthError),
        ("/openapi/elsewhere", ApiError),
        ("", ApiError),
        ("mailto:x", ApiError),
    ],
)
def test_redirects_of_json_are_not_followed(connect: Connect, location: str, kind: type[Exception]) -> None:
    failing(connect, Answer(302, b'{"job_id": "x"}', {"Location": location}), kind)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_errors_are_asked_again(connect: Connect, status: int) -> None:
    with scripted(in_turn(Answer(status), Answer(status), as_json({"ok": 1}))) as server:
        assert connect(server.address).job("J") == {"ok": 1}
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 501])
def test_lasting_errors_are_not(connect: Connect, status: int) -> None:
    with scripted(in_turn(Answer(status))) as server, pytest.raises(ApiError):
        connect(server.address).job("J")
    assert len(server.asked) == 1


def test_the_number_of_retries_is_kept(connect: Connect) -> None:
    with scripted(in_turn(Answer(500))) as server, pytest.raises(ApiError):
        connect(server.address, retry=1).job("J")
    assert len(server.asked) == 2


def test_the_server_says_how_long_to_wait(connect: Connect) -> None:
    with scripted(in_turn(Answer(429, headers={"Retry-After": "1"}), as_json({}))) as server:
        begun = time.monotonic()
        connect(server.address).job("J")
        assert 1.0 <= time.monotonic() - begun < 2.5


def test_a_date_in_retry_after_counts_too(connect: Connect) -> None:
    soon = formatdate(time.time() + 2, usegmt=True)
    with scripted(in_turn(Answer(503, headers={"Retry-After": soon}), as_json({}))) as server:
        begun = time.monotonic()
        connect(server.address).job("J")
        assert 0.5 < time.monotonic() - begun < 4


def test_everyone_waits_when_the_server_is_crowded(connect: Connect) -> None:
    opened_at = time.monotonic() + 1.5

    def answer(asked: Asked, raw: Any) -> Answer:
        return as_json({}) if time.monotonic() > opened_at else Answer(429, headers={"Retry-After": "1"})

    with scripted(answer) as server:
        client = connect(server.address)
        threads = [threading.Thread(target=client.job, args=(f"J{i}",)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert 16 < len(server.asked) <= 48
    assert client.width() < 8


def test_our_own_idempotent_posts_are_asked_again(connect: Connect) -> None:
    with scripted(in_turn(Answer(502), as_json({"missing": []}))) as server:
        connect(server.address).uploads_check(UploadsCheck(kind="media", sha256=["0" * 64]))
    assert [asked.body for asked in server.asked] == [server.asked[0].body] * 2


def test_other_posts_are_not_unless_they_had_no_effect(connect: Connect) -> None:
    with scripted(in_turn(Answer(502), as_json({}))) as server, pytest.raises(ApiError):
        connect(server.address).download_task_create(DownloadTaskCreate(group_id="G"))
    assert len(server.asked) == 1
    with scripted(in_turn(Answer(429), as_json({"task_id": "T"}))) as server:
        assert connect(server.address).download_task_create(DownloadTaskCreate(group_id="G")) == {"task_id": "T"}


def test_a_connection_closed_while_idle_costs_no_retry(connect: Connect) -> None:
    served = set()

    def answer(asked: Asked, raw: Any) -> Answer | None:
        if raw.client_address in served:
            raw.close_connection = True
            return None
        served.add(raw.client_address)
        return as_json({})

    with scripted(answer) as server:
        client = connect(server.address, retry=0)
        for _ in range(4):
            assert client.job("J") == {}


def test_a_broken_body_is_asked_again(connect: Connect) -> None:
    with scripted(in_turn(Answer(200, b'{"a": 1', length=8), as_json({"a": 1}))) as server:
        assert connect(server.address).job("J") == {"a": 1}


def test_nobody_there_is_a_network_error(connect: Connect) -> None:
    with pytest.raises(NetworkError, match="refused"):
        connect("http://127.0.0.1:9", retry=1).job("J")


def test_a_silent_server_is_a_network_error(connect: Connect) -> None:
    done = threading.Event()

    def answer(asked: Asked, raw: Any) -> None:
        done.wait(5)

    with scripted(answer) as server:
        begun = time.monotonic()
        with pytest.raises(NetworkError, match="in time"):
            connect(server.address, retry=0, timeout=0.3).job("J")
        assert time.monotonic() - begun < 2
        done.set()


@pytest.fixture
def stuck() -> Iterator[Scripted]:
    done = threading.Event()
    with scripted(lambda asked, raw: done.wait(20) and None) as server:
        yield server
        done.set()


def test_a_cancel_ends_a_waiting_request_within_a_second(connect: Connect, stuck: Scripted) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        connect(stuck.address, cancel=cancel, timeout=60).job("J")
    assert time.monotonic() - begun < 1.3


def test_a_cancel_ends_a_pause_within_a_second(connect: Connect) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with scripted(in_turn(Answer(503, headers={"Retry-After": "30"}))) as server:
        begun = time.monotonic()
        with pytest.raises(Cancelled):
            connect(server.address, cancel=cancel).job("J")
        assert time.monotonic() - begun < 1.3


@pytest.mark.parametrize(
    "answer", [Answer(404), Answer(302, headers={"Location": "/x"}), HTML, as_json([1]), as_json({"version": 3}), Answer(401)]
)
def test_an_old_server_has_no_version(connect: Connect, answer: Answer) -> None:
    with scripted(in_turn(answer)) as server:
        client = connect(server.address)
        assert client.server_version() is None
        assert not client.has("cursor")
    assert len(server.asked) == 1


def test_a_new_server_says_what_it_can(connect: Connect) -> None:
    version = {"server": "benchloop", "version": "1", "api": 1, "features": ["cursor"], "new": 1}
    with scripted(in_turn(as_json(version))) as server:
        client = connect(server.address)
        assert client.has("cursor") and not client.has("members")
    assert len(server.asked) == 1


def test_answers_of_another_shape_are_api_errors(connect: Connect) -> None:
    with scripted(in_turn(as_json({"missing": 3}))) as server, pytest.raises(ApiError, match="shape"):
        connect(server.address).uploads_check(UploadsCheck(kind="media", sha256=[]))


def test_a_proxy_is_used_and_gets_its_own_credentials(connect: Connect) -> None:
    with scripted(in_turn(as_json({"x": 1}))) as proxy:
        environ = {"HTTP_PROXY": proxy.address.replace("//", "//user:p%40ss@"), "HOME": "/nonexistent"}
        assert connect("http://bench.invalid", allow_http=True, environ=environ).job("J") == {"x": 1}
    asked = proxy.asked[0]
    assert asked.headers["host"] == "bench.invalid"
    assert asked.headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"


def test_a_dead_proxy_does_not_show_its_password(connect: Connect) -> None:
    environ = {"HTTP_PROXY": "http://user:topsecret@127.0.0.1:9", "HOME": "/nonexistent"}
    with pytest.raises(NetworkError, match="proxy") as caught:
        connect("http://bench.invalid", allow_http=True, environ=environ, retry=0).job("J")
    assert "topsecret" not in str(caught.value)


def test_other_kinds_of_proxy_are_refused_in_words(connect: Connect) -> None:
    environ = {"ALL_PROXY": "socks5://127.0.0.1:9", "HOME": "/nonexistent"}
    with pytest.raises(UsageError, match="socks5"):
        connect("http://bench.invalid", allow_http=True, environ=environ).job("J")


def test_an_unknown_host_is_a_network_error() -> None:
    fault = transport_fault(Unreached("name", "Name or service not known"), Origin.of("https://bench.invalid"))
    assert isinstance(fault, Retryable) and fault.unsent
    assert str(fault.error) == "network: host bench.invalid is not known"


def test_a_closed_client_says_so(connect: Connect) -> None:
    client = connect("http://127.0.0.1:9")
    client.close()
    with pytest.raises(NetworkError, match="closed"):
        client.job("J")
