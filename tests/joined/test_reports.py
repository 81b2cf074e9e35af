"""Reports and weakness reports where no worker has come yet: one stable answer, and wishes that are kept once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select, update

from benchloop_client.client import Client
from benchloop_client.contract.version import ONCE_HEADER
from benchloop_client.settings import Flags, load
from benchloop_server.sql.tables import analysis_requests, jobs
from tests.support.pushing import Sent, push
from tests.support.served import Served
from tests.support.stores import job

KINDS = ("report", "rsi")


def read(served: Served, path: str) -> Any:
    """The JSON of a 200."""
    answer = served.get(f"/openapi/{path}")
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def trigger(served: Served, path: str, body: Any = None, **options: Any) -> Any:
    """The JSON of a trigger's 200."""
    answer = served.request("POST", f"/openapi/{path}/trigger", json={} if body is None else body, **options)
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def wishes(served: Served) -> list[tuple[Any, ...]]:
    """(kind, subject kind, subject, include_passed, state) of every row, oldest first."""
    columns = [analysis_requests.c[name] for name in ("kind", "subject_kind", "subject_id", "include_passed", "state")]
    with served.services.db.read() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(analysis_requests.c.requested_at))]


def test_before_the_analysis_there_is_an_empty_answer(served: Served) -> None:
    push(served, Sent("j1"))
    reasons = {"fail_reason": None, "sub_fail_reason": None, "reports": [], "report": None, "error": None}
    facts = ("tier", "fault_side", "reward_valid", "says", "wasted_steps", "wasted_seconds", "ruleset_version", "opinion")
    verdict = {**dict.fromkeys(facts), "evidence": [], "secondary": []}
    assert read(served, "jobs/j1/report") == {"job_id": "j1", "status": "queued", **reasons, **verdict}
    numbers = {"headline": None, "rewards": None, "judge": None, "reasons": [], "findings": []}
    assert read(served, "groups/g1/report") == {"group_id": "g1", "status": "queued", **reasons, **numbers}
    assert read(served, "jobs/j1/rsi") == {"job_id": "j1", "status": "queued", "report": None, "error": None}
    assert read(served, "groups/g1/rsi") == {"group_id": "g1", "status": "queued", "report": None, "error": None}


def test_a_group_that_nobody_wished_about_is_not_analysed(served: Served) -> None:
    served.request("PUT", "/openapi/groups/empty", json={"name": "empty"})
    assert read(served, "groups/empty/report")["status"] == read(served, "groups/empty/rsi")["status"] == "not_analysed"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("subject", ["jobs/none", "groups/none"])
def test_what_does_not_exist_has_no_report(served: Served, subject: str, kind: str) -> None:
    assert served.get(f"/openapi/{subject}/{kind}").status == 404
    assert served.request("POST", f"/openapi/{subject}/{kind}/trigger", json={}).status == 404
    assert wishes(served) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_wish_is_kept_once(served: Served, kind: str) -> None:
    push(served, Sent("j1"))
    first = trigger(served, f"jobs/j1/{kind}")
    assert {**first, "requested_at": ""} == {
        "job_id": "j1",
        "kind": kind,
        "status": "queued",
        "include_passed": None,
        "requested_at": "",
        "requested_by": "admin",
    }
    assert trigger(served, f"jobs/j1/{kind}", headers={ONCE_HEADER: "another"}) == first
    group = trigger(served, f"groups/g1/{kind}")
    assert (group["group_id"], group["include_passed"]) == ("g1", False)
    assert trigger(served, f"groups/g1/{kind}", {"include_passed": False}) == group
    assert trigger(served, f"groups/g1/{kind}", {"include_passed": True})["include_passed"] is True
    assert wishes(served) == [
        (kind, "job", "j1", None, "pending"),
        (kind, "group", "g1", False, "pending"),
        (kind, "group", "g1", True, "pending"),
    ]


def test_other_data_is_another_wish(served: Served) -> None:
    push(served, Sent("j1"))
    first = [trigger(served, f"{subject}/report") for subject in ("jobs/j1", "groups/g1")]
    push(served, Sent("j1"), Sent("j2"))
    assert trigger(served, "jobs/j1/report") == first[0], "its content is what it was"
    assert trigger(served, "groups/g1/report") != first[1]
    served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("j1", reward=0.0)]})
    assert trigger(served, "jobs/j1/report") != first[0]
    assert len(wishes(served)) == 4


def test_a_wish_that_failed_can_be_wished_again(served: Served) -> None:
    push(served, Sent("j1"))
    trigger(served, "jobs/j1/report")
    with served.services.db.write() as connection:
        connection.execute(update(analysis_requests).values(state="failed", live_key=None))
    trigger(served, "jobs/j1/report")
    assert [row[-1] for row in wishes(served)] == ["failed", "pending"]


def test_wishes_outlive_the_server(served: Served) -> None:
    push(served, Sent("j1"))
    first = trigger(served, "groups/g1/report")
    served.services.db.close()
    assert trigger(served, "groups/g1/report") == first


@pytest.mark.parametrize("body", [{"include_passed": "maybe"}, {"include": True}, []])
def test_a_body_that_does_not_fit_is_refused(served: Served, body: Any) -> None:
    push(served, Sent("j1"))
    answer = served.request("POST", "/openapi/groups/g1/report/trigger", json=body)
    assert (answer.status, json.loads(answer.data)["code"]) == (400, "bad_request")


def test_the_client_asks_and_reads(served: Served) -> None:
    push(served, Sent("j1"))
    with Client(load(Flags(host=served.url, api_key=served.key()), environ={})) as client:
        assert client.job_report("j1")["status"] == client.group_rsi("g1")["status"] == "queued"
        assert client.group_report("g1")["reports"] == [] and client.job_rsi("j1")["report"] is None
        assert client.job_report_trigger("j1") == client.job_report_trigger("j1")
        assert client.group_report_trigger("g1", include_passed=True)["include_passed"] is True
        assert client.job_rsi_trigger("j1")["kind"] == client.group_rsi_trigger("g1")["kind"] == "rsi"
    assert len(wishes(served)) == 4


def test_reasons_go_when_the_content_changes(served: Served) -> None:
    push(served, Sent("j1"))
    _say(served, "timeout")
    push(served, Sent("j1"))
    assert read(served, "jobs/j1")["fail_reason"] == "timeout"
    served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [job("j1", reward=0.5)]})
    assert read(served, "jobs/j1")["fail_reason"] is None


def _say(served: Served, reason: str) -> None:
    with served.services.db.write() as connection:
        connection.execute(update(jobs).values(fail_reason=reason))
