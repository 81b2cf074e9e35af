"""`--errors json`: every failure is one record with the same fields, whatever failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchloop_client import errors
from benchloop_client.cli import problems
from tests.unit.client.cli.conftest import KEY, Bl, FakeClient, Ran

_FIELDS = {"id", "kind", "code", "status", "message", "request_id", "retryable"}


def _records(ran: Ran) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]
    assert all(set(record) >= _FIELDS for record in found)
    assert "[error]" not in ran.err
    return found


def _answers(**answers: Any) -> Any:
    def prepare(client: FakeClient) -> None:
        client.answers = answers

    return prepare


def test_failed_ids_are_records_in_the_order_of_the_ids(bl: Bl) -> None:
    prepare = _answers(
        J1=errors.ApiError(503, "busy", code="overloaded", request_id="r-1"),
        J2={},
        J3=errors.NetworkError("down"),
        J4=errors.NotFound(404, "no"),
    )
    ran = bl("metrics", "get", "-j", "J1,J2,J3,J4", "--errors", "json", prepare=prepare)
    assert (ran.code, len(ran.json)) == (1, 1)
    first, second, third = _records(ran)
    assert first == {
        "id": "J1", "kind": "api", "code": "overloaded", "status": 503, "message": "API error 503: busy (request r-1)",
        "request_id": "r-1", "retryable": True,
    }  # fmt: skip
    assert (second["id"], second["kind"], second["retryable"], second["status"]) == ("J3", "network", True, None)
    assert (third["id"], third["kind"], third["retryable"], third["status"]) == ("J4", "not_found", False, 404)


def test_b6_a_null_answer_is_a_record_even_with_q_and_no_failure(bl: Bl) -> None:
    ran = bl("jobs", "get", "-g", "G", "-q", "--errors=json", prepare=lambda client: setattr(client, "jobs_page", lambda *_a, **_k: None))
    assert (ran.code, ran.out) == (0, "[]\n")
    (record,) = _records(ran)
    assert (record["id"], record["kind"], record["retryable"]) == ("G", "null_answer", False)


def test_what_ends_the_whole_command_has_no_id(bl: Bl) -> None:
    ran = bl(
        "--errors",
        "json",
        "metrics",
        "get",
        "-j",
        "J1,J2",
        prepare=_answers(J1=errors.AuthError("refused"), J2=errors.AuthError("refused")),
    )
    assert (ran.code, ran.out) == (3, "")
    assert [(record["id"], record["kind"], record["message"]) for record in _records(ran)] == [(None, "auth", "refused")]


@pytest.mark.parametrize(
    "argv",
    [
        ["--errors", "json", "jobs", "get"],
        ["jobs", "get", "-g", "G", "--page", "0", "--errors", "json"],
        ["jobs", "get", "--nope", "--errors=json"],
        ["job", "--errors=json"],
        ["jobs", "get", "-g", "..", "--errors", "json"],
    ],
)
def test_wrong_usage_is_one_record_wherever_the_option_stands(bl: Bl, argv: list[str]) -> None:
    ran = bl(*argv)
    assert ran.code == 2
    (record,) = _records(ran)
    assert (record["kind"], record["id"]) == ("usage", None)
    assert ran.err.count("\n") == 1


def test_without_the_option_and_with_text_nothing_changes(bl: Bl) -> None:
    for more in ([], ["--errors", "text"]):
        ran = bl("metrics", "get", "-j", "NO", *more)
        assert ran.err.splitlines() == ["[error] 1 id(s) failed:", "[error]   - NO: API error 404: no job NO"]
    assert bl("metrics", "get", "-j", "NO", "--errors", "xml").code == 2


def test_records_are_ascii_and_hold_no_key(bl: Bl) -> None:
    ran = bl("metrics", "get", "-j", "名", "--errors", "json", prepare=_answers(名=errors.ApiError(500, f"坏 {KEY}")))
    assert ran.err.isascii()
    assert KEY not in ran.err
    assert _records(ran)[0]["id"] == "名"


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (errors.IntegrityError("x"), "integrity", False),
        (errors.DiskFull("x"), "disk_full", False),
        (errors.LocalError("x"), "local", False),
        (PermissionError(13, "x"), "local", False),
        (errors.NotReady("x", code="wait_timeout"), "not_ready", True),
        (errors.NotReady("x", code="not_analysed"), "not_ready", False),
        (errors.Cancelled(), "interrupted", True),
        (errors.ApiError(400, "x"), "api", False),
        (errors.ApiError(429, "x"), "api", True),
        (ZeroDivisionError("x"), "unexpected", False),
    ],
)
def test_the_kind_of_every_error(error: BaseException, kind: str, retryable: bool) -> None:
    found = problems.of_error(error, "words", item="I")
    assert (found["kind"], found["retryable"], found["message"], found["id"]) == (kind, retryable, "words", "I")


def test_details_of_an_error_stay_with_it() -> None:
    assert problems.of_error(errors.UsageError("x"), "x", details=("one", "two"))["details"] == ["one", "two"]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["--errors", "json"], True),
        (["x", "--errors=json", "y"], True),
        (["--errors", "text"], False),
        (["--", "--errors", "json"], False),
        (["--errors"], False),
        ([], False),
    ],
)
def test_the_option_is_seen_before_anything_is_parsed(argv: list[str], wanted: bool) -> None:
    assert problems.wanted(argv) is wanted
