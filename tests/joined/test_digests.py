"""A byte that changes on the way in JSON, which neither length nor syntax betrays: it is found, asked for again, and never stored."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchloop_client.client import Client
from benchloop_client.contract.digests import fits, stated
from benchloop_client.errors import NetworkError
from benchloop_client.settings import Flags, load
from tests.support.faulty import Faulty, Strike, faulty
from tests.support.pushing import Sent, push
from tests.support.served import Served

_VERSION = "/openapi/version"


@pytest.fixture
def between(served: Served) -> Iterator[Faulty]:
    """What changes bytes, in front of a server with one job."""
    push(served, Sent("j1"))
    with faulty(int(served.url.rsplit(":", 1)[1])) as proxy:
        yield proxy


def _place(served: Served, path: str, word: str) -> int:
    """Where the word stands in the answer."""
    return served.get(path).data.index(word.encode())


def _client(served: Served, between: Faulty, retry: int) -> Client:
    return Client(load(Flags(host=between.origin, api_key=served.key(), timeout=10.0, retry=retry), {"HOME": "/nonexistent"}))


def test_a_changed_digit_of_an_answer_is_asked_for_again(served: Served, between: Faulty) -> None:
    place = _place(served, "/openapi/jobs/j1", '"reward":1.0') + len('"reward":')
    for retry in (0, 1):
        between.arm(Strike(place, "flip", by=1))
        with _client(served, between, retry) as client:
            if not retry:
                with pytest.raises(NetworkError, match="damaged on the way"):
                    client.job("j1")
            else:
                assert client.job("j1") == served.get("/openapi/jobs/j1").json()
        assert between.hits == 1


def test_a_changed_letter_of_a_request_is_refused(served: Served, between: Faulty) -> None:
    body = json.dumps({"name": "right"}).encode()
    headers = {"X-API-Key": served.key(), "Content-Type": "application/json", "Content-Digest": stated(body)}
    between.arm(Strike(body.index(b"right"), "flip", up=True, by=0))
    answer = served.pool.request("PUT", f"{between.origin}/openapi/groups/new", body=body, headers=headers)
    assert (answer.status, answer.json()["code"]) == (400, "bad_request")
    assert "damaged" in answer.json()["error"]
    assert served.get("/openapi/groups/new").status == 404
    assert served.pool.request("PUT", f"{between.origin}/openapi/groups/new", body=body, headers=headers).status == 200


@pytest.mark.parametrize("value", [None, "", "md5=:AAAA:", "sha-512=:AAAA:", "words"])
def test_a_header_that_says_nothing_we_know_is_no_reason_to_refuse(value: str | None) -> None:
    assert fits(b"body", value)


@pytest.mark.parametrize("value", ["sha-256=:AAAA:", "sha-256=:A:", "sha-256=::", f"md5=:AAAA:, {stated(b'other')}"])
def test_a_header_of_another_body_is(value: str) -> None:
    assert not fits(b"body", value)
    assert fits(b"body", f"sha-512=:AAAA:, {stated(b'body')}")


def test_answers_state_their_digest_and_head_has_none(served: Served) -> None:
    for path in (_VERSION, "/openapi/jobs/none"):
        answer = served.get(path)
        assert answer.headers["content-digest"] == stated(answer.data)
    assert "content-digest" not in served.request("HEAD", _VERSION).headers
