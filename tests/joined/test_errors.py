"""The one error body, whoever raises: the framework, a feature, or a bug; and the headers round every answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchloop_server.kit.limits import Limits
from tests.support.served import Served
from tests.support.stores import job


def error(answer: object) -> tuple[int, str, str]:
    """Status, code and sentence; the shape is checked."""
    body = json.loads(answer.data)  # type: ignore[attr-defined]
    assert list(body) == ["error", "code", "request_id"]
    assert answer.headers["content-type"] == "application/json"  # type: ignore[attr-defined]
    return answer.status, body["code"], body["error"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "words"),
    [
        ("GET", "/nothing", 404, "not_found", "no route '/nothing'"),
        ("GET", "/openapi/groups/a/b/c", 404, "not_found", "no route"),
        ("DELETE", "/openapi/jobs", 405, "method_not_allowed", "DELETE is not served on '/openapi/jobs'"),
        ("GET", "/openapi/groups/none", 404, "not_found", "group 'none' does not exist"),
        ("GET", "/openapi/jobs/none", 404, "not_found", "job 'none' does not exist"),
        ("GET", "/openapi/jobs/a%20b", 404, "not_found", "job 'a b' does not exist"),
        ("GET", "/openapi/jobs/..%00", 404, "not_found", "does not exist"),
        ("GET", f"/openapi/jobs/{'a' * 129}", 404, "not_found", "does not exist"),
        ("GET", "/openapi/jobs?limit=0", 400, "bad_request", "`limit`: Expected `int` >= 1"),
        ("GET", "/openapi/jobs?skip=-1", 400, "bad_request", "`skip`"),
        ("GET", "/openapi/jobs?skip=99999999999999999999999", 400, "bad_request", "`skip`"),
        ("GET", "/openapi/jobs?limit=ten", 400, "bad_request", "`limit`: Expected `int`, got `str`"),
        ("GET", "/openapi/jobs?reward_valid=maybe", 400, "bad_request", "`reward_valid`"),
        ("GET", "/openapi/jobs?cursor=zzz", 400, "bad_request", "`cursor` is not one that this server gave out"),
        ("GET", "/openapi/jobs?group_id=a%00b", 400, "bad_request", "NUL"),
        ("GET", "/openapi/metrics", 400, "bad_request", "group_id"),
        ("PUT", "/openapi/groups/.hidden", 400, "bad_request", "'.hidden' cannot be made"),
        ("GET", "/openapi/groups/g1/eval_tasks", 404, "not_found", "group 'g1'"),
    ],
)
def test_errors_are_one_sentence_with_a_code(served: Served, method: str, path: str, status: int, code: str, words: str) -> None:
    found = error(served.request(method, path))
    assert found[:2] == (status, code)
    assert words in found[2]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "the body"),
        (b"", "the body"),
        (b'{"name": 1}', "`str`, got `int`"),
        (b"{}", "required field `name`"),
        (b'{"name": "x", "nmae": "y"}', "unknown field `nmae`"),
        (b'{"name": "\\ud800"}', "the body"),
        (b"\xff\xfe", "the body"),
    ],
)
def test_bodies_that_do_not_fit_are_told_apart(served: Served, body: bytes, words: str) -> None:
    status, code, sentence = error(served.request("PUT", "/openapi/groups/g1", body=body))
    assert (status, code) == (400, "bad_request")
    assert words in sentence


def test_facts_that_cannot_be_are_named(served: Served) -> None:
    assert served.request("PUT", "/openapi/groups/g1", json={"name": "g"}).status == 200
    for facts, words in (
        ({"n_input_tokens": -1}, "`n_input_tokens` has to be from 0"),
        ({"step": 2**70}, "step"),
        ({"task_id": ""}, "`task_id`"),
        ({"task_id": "a\0b"}, "`task_id` holds a NUL"),
        ({"finished_at": "2026-01-01T00:00:00"}, "`finished_at`"),
        ({"phases": {"setup": {"started_at": "2026-02-30T00:00:00Z"}}}, "`phases.setup.started_at`"),
    ):
        answer = served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("a", **facts)]})
        status, code, sentence = error(answer)
        assert (status, code) in {(422, "unprocessable"), (400, "bad_request")}, facts
        assert words in sentence, (facts, sentence)


def test_a_batch_over_the_limit_is_refused(served: Served) -> None:
    served.request("PUT", "/openapi/groups/g1", json={"name": "g"})
    jobs = [job(f"j{number}") for number in range(Limits().jobs_in_batch + 1)]
    status, code, sentence = error(served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": jobs}))
    assert (status, code) == (422, "unprocessable")
    assert "at most 500 jobs, not 501" in sentence
    assert "twice" in error(served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("a"), job("a")]}))[2]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_too_large(served: Served, chunked: bool) -> None:
    size = Limits().json_body_bytes + 1
    body = iter([b" " * 1_000_000] * (size // 1_000_000 + 1)) if chunked else b" " * size
    status, code, _ = error(served.request("PUT", "/openapi/groups/g1", body=body))
    assert (status, code) == (413, "too_large")


def test_a_bug_shows_its_id_and_nothing_else(served: Served) -> None:
    with served.services.db.write() as connection:
        connection.exec_driver_sql("ALTER TABLE jobs RENAME TO gone")
    status, code, sentence = error(served.get("/openapi/jobs"))
    assert (status, code) == (500, "internal")
    assert "gone" not in sentence and "SELECT" not in sentence


def test_every_answer_carries_the_headers(served: Served) -> None:
    for path in ("/", "/healthz", "/openapi/version", "/openapi/jobs", "/nothing"):
        headers = served.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert len(headers["x-request-id"]) == 16
        assert "set-cookie" not in headers


def test_health_and_readiness(served: Served) -> None:
    assert json.loads(served.get("/healthz").data) == {"status": "ok"}
    assert json.loads(served.get("/readyz").data) == {"status": "ready"}
    with served.services.db.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert error(served.get("/readyz"))[:2] == (503, "unavailable")
    assert "database" in error(served.get("/readyz"))[2]
    assert served.get("/healthz").status == 200


def test_the_stats_route_is_not_taken_for_a_job(served: Served, tmp_path: Path) -> None:
    assert json.loads(served.get("/openapi/jobs/stats").data)["present"] == 0
