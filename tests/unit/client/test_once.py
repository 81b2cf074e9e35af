"""POSTs that may be repeated carry one key for all repetitions; what must not happen twice is never repeated by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benchloop_client.client import Client
from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.errors import ApiError
from tests.unit.client.scripted import Answer, Asked, as_json, scripted
from tests.unit.client.test_http_json import in_turn

Connect = Callable[..., Client]
ONCE = "idempotency-key"
BUSY = Answer(503, b'{"error":"busy"}', {"Retry-After": "0"})

TRIGGERS: dict[str, Callable[[Client], Any]] = {
    "job_report_trigger": lambda client: client.job_report_trigger("j"),
    "group_report_trigger": lambda client: client.group_report_trigger("g", include_passed=True),
    "job_rsi_trigger": lambda client: client.job_rsi_trigger("j"),
    "group_rsi_trigger": lambda client: client.group_rsi_trigger("g"),
    "behavior_task_create": lambda client: client.behavior_task_create({"groupId": "g", "steps": [], "scoringLimit": 32}),
}
BODIES = {"job_report_trigger": b"{}", "group_report_trigger": b'{"include_passed":true}', "group_rsi_trigger": b'{"include_passed":false}'}


VERSION = as_json({"server": "benchloop-server", "version": "1.0.0", "api": 1, "features": []})


@contextmanager
def answering(*answers: Answer, version: Answer = VERSION) -> Iterator[tuple[str, list[Asked]]]:
    """A server that says who it is and answers everything else in turn: its address, and what it was asked but for its version."""
    asked: list[Asked] = []
    turns = in_turn(*answers)

    def answer(request: Asked, raw: Any) -> Answer:
        if request.path == OPERATIONS["version"].path:
            return version
        asked.append(request)
        return turns(request, raw)

    with scripted(answer) as server:
        yield server.address, asked


@pytest.mark.parametrize("name", TRIGGERS)
def test_a_repeated_post_has_the_same_key(connect: Connect, name: str) -> None:
    with answering(BUSY, BUSY, as_json({"uid": "u"})) as (address, asked):
        assert TRIGGERS[name](connect(address)) == {"uid": "u"}
    assert [each.path for each in asked] == [OPERATIONS[name].url_path(job_id="j", group_id="g")] * 3
    assert len({each.headers[ONCE] for each in asked}) == 1
    assert len(asked[0].headers[ONCE]) >= 32
    assert asked[0].body == BODIES.get(name, asked[0].body)


def test_a_server_that_may_not_know_the_key_is_asked_once(connect: Connect) -> None:
    with answering(BUSY, as_json({}), version=Answer(404, b"")) as (address, asked), pytest.raises(ApiError):
        connect(address).job_report_trigger("j")
    assert len(asked) == 1


def test_another_call_has_another_key(connect: Connect) -> None:
    with answering(as_json({})) as (address, asked):
        client = connect(address)
        for _ in range(2):
            client.job_report_trigger("j")
    assert len({each.headers[ONCE] for each in asked}) == 2


def test_a_deletion_is_not_repeated(connect: Connect) -> None:
    with answering(Answer(500, b'{"error":"lost"}'), as_json({})) as (address, asked), pytest.raises(ApiError):
        connect(address).group_delete("g")
    assert [each.method for each in asked] == ["DELETE"]


def test_an_edit_sends_what_is_given_and_nothing_else(connect: Connect) -> None:
    with answering(BUSY, as_json({})) as (address, asked):
        connect(address).group_patch("g", {"note": None})
    assert [(each.method, each.body) for each in asked] == [("PATCH", b'{"note":null}')] * 2
