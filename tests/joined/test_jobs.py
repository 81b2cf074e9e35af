"""Jobs over the wire, as the documented client reads them: shapes, paging, and rows that arrive while a list is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchloop_client.contract.metrics import JOB_RUN, JOB_TOKEN
from benchloop_client.contract.trajectory import is_absent
from tests.support.pushing import Sent, archive, document, push
from tests.support.served import Served
from tests.support.stores import job


def read(served: Served, path: str) -> Any:
    """The JSON of a 200."""
    answer = served.get(path)
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def send(served: Served, *jobs: dict[str, Any], group: str = "g1") -> Any:
    """Make the group and push; the answer's JSON."""
    assert served.request("PUT", f"/openapi/groups/{group}", json={"name": group}).status == 200
    answer = served.request("POST", f"/openapi/groups/{group}/jobs", json={"jobs": list(jobs)})
    assert answer.status == 200, answer.data
    return json.loads(answer.data)


def test_a_job_shows_its_facts_and_counts(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1"), archive=archive({"log.txt": b"x"})))
    shown = read(served, "/openapi/jobs/j1")
    assert (shown["outcome"], shown["outcome_rule"], shown["attempt"], shown["group_id"]) == ("passed", 1, 1, "g1")
    assert (shown["n_steps"], shown["n_tool_calls"], shown["trajectory_bytes"]) == (3, 3, len(document("j1", "g1")))
    assert shown["artifact_bytes"] == len(archive({"log.txt": b"x"}))
    assert (shown["reward_valid"], shown["cost_usd"], shown["started_at"], shown["duration_s"]) == (None, None, None, None)
    assert shown["created_at"].endswith("Z") and len(shown["created_at"]) == 27


def test_metrics_of_a_job_have_the_documented_names(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1")))
    shown = read(served, "/openapi/metrics/j1?source=trace")
    assert (tuple(shown["run_metrics"]), tuple(shown["tokenized_metrics"])) == (tuple(JOB_RUN), tuple(JOB_TOKEN))
    assert (shown["run_metrics"]["tool_call_count"], shown["run_metrics"]["duration_s"]) == (3, None)
    assert (shown["tokenized_metrics"]["tokenizer_output_total"], shown["tokenized_metrics"]["tokenizer_context_peak"]) == (6, 12)
    assert shown["metrics"]["reward"] == 1.0
    rows = read(served, "/openapi/metrics?group_id=g1&skip=0&limit=1000")
    assert (rows["total"], rows["metrics"]) == (1, [shown])
    assert rows["tokenized_metrics"]["avg_tokenizer_output_total"] == 6
    assert read(served, "/openapi/metrics?group_id=none") | {"tokenized_metrics": None} == {
        "group_id": "none",
        "total": 0,
        "skip": 0,
        "limit": 1000,
        "metrics": [],
        "tokenized_metrics": None,
        "next_cursor": None,
    }


def test_what_the_source_said_comes_back(served: Served) -> None:
    phases = {"setup": {"started_at": "2026-01-01T00:00:00Z", "finished_at": None}}
    source = {"format": "harbor", "reader": "harbor", "reader_version": 2, "location": "a/b"}
    send(served, job("j1", meta={"ünï": [1, None]}, phases=phases, source=source, agent_version="1.2"))
    shown = read(served, "/openapi/jobs/j1/meta")
    assert (shown["meta"], shown["phases"], shown["source"], shown["agent_version"]) == ({"ünï": [1, None]}, phases, source, "1.2")
    assert (shown["trial_key"], shown["trajectory_sha256"]) == ("j1", None)


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (1000, 1000), (5000, 1000)])
def test_a_page_holds_at_most_a_thousand(served: Served, asked: int, given: int) -> None:
    for start in range(0, 1200, 400):
        send(served, *(job(f"j{number:04}") for number in range(start, start + 400)))
    page = read(served, f"/openapi/jobs?group_id=g1&limit={asked}")
    assert (len(page["jobs"]), page["limit"], page["total"]) == (given, given, 1200)
    assert len(read(served, "/openapi/jobs?group_id=g1")["jobs"]) == 50


def test_every_page_but_the_last_has_a_cursor(served: Served) -> None:
    send(served, *(job(f"j{number}") for number in range(5)))
    first = read(served, "/openapi/jobs?group_id=g1&limit=3")
    second = read(served, f"/openapi/jobs?group_id=g1&limit=3&cursor={first['next_cursor']}")
    assert [each["job_id"] for each in first["jobs"] + second["jobs"]] == ["j0", "j1", "j2", "j3", "j4"]
    assert second["next_cursor"] is None
    assert read(served, "/openapi/jobs?group_id=g1&limit=5")["next_cursor"] is None
    both = served.get(f"/openapi/jobs?group_id=g1&skip=1&cursor={first['next_cursor']}")
    assert (both.status, b"exclude each other" in both.data) == (400, True)


@pytest.mark.parametrize(("path", "rows"), [("/openapi/metrics?group_id=g1", "metrics"), ("/openapi/groups/g1/metrics/detail?", "metrics")])
def test_a_cursor_that_is_given_is_also_taken(served: Served, path: str, rows: str) -> None:
    """E2 gave one and ignored it: every group of more than one page looked endless."""
    send(served, *(job(f"j{number}") for number in range(5)))
    first = read(served, f"{path}&limit=3")
    second = read(served, f"{path}&limit=3&cursor={first['next_cursor']}")
    assert [each["job_id"] for each in first[rows] + second[rows]] == ["j0", "j1", "j2", "j3", "j4"]
    assert second["next_cursor"] is None


def test_updates_and_new_jobs_while_a_list_is_read_lose_nothing(served: Served) -> None:
    send(served, *(job(f"j{number}") for number in range(4)))
    page = read(served, "/openapi/jobs?group_id=g1&limit=2")
    send(served, job("j0", reward=1.0), job("j3", reward=1.0), job("new"))
    rest = read(served, f"/openapi/jobs?group_id=g1&limit=10&cursor={page['next_cursor']}")
    assert [each["job_id"] for each in page["jobs"] + rest["jobs"]] == ["j0", "j1", "j2", "j3", "new"]


def test_ids_of_a_group_in_the_order_of_the_list(served: Served) -> None:
    send(served, job("b"), job("a"), job("c"))
    assert read(served, "/openapi/groups/g1/job-ids") == {"group_id": "g1", "total": 3, "job_ids": ["b", "a", "c"]}
    assert read(served, "/openapi/jobs?group_id=none") == {
        "group_id": "none",
        "total": 0,
        "skip": 0,
        "limit": 50,
        "jobs": [],
        "next_cursor": None,
    }
    assert served.get("/openapi/groups/none/job-ids").status == 404


def test_a_trajectory_of_another_job_is_refused(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1")))
    entry = Sent("j2", document=document("j1", "g1")).upsert()
    answer = served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [entry]})
    assert (answer.status, json.loads(answer.data)["code"]) == (422, "unprocessable")
    assert "stamped with job_id 'j1', not 'j2'" in json.loads(answer.data)["error"]
    assert served.get("/openapi/jobs/j2").status == 404


def test_a_wrong_size_is_refused(served: Served) -> None:
    push(served, Sent("j1", archive=archive({"a": b"b"})))
    entry = Sent("j1", archive=archive({"a": b"b"})).upsert()
    entry["archive"]["size"] += 1
    entry["fingerprint"] = "0" * 64
    answer = served.request("POST", "/openapi/groups/g1/jobs", json={"jobs": [entry]})
    assert (answer.status, b"bytes, not" in answer.data) == (422, True)


def test_content_that_is_no_longer_named_is_no_longer_shown(served: Served) -> None:
    push(served, Sent("j1", document=document("j1", "g1"), archive=archive({"a": b"b"})))
    send(served, job("j1"))
    shown = read(served, "/openapi/jobs/j1")
    assert (shown["n_steps"], shown["trajectory_bytes"], shown["artifact_bytes"]) == (None, None, None)
    assert is_absent(served.get("/openapi/jobs/j1/trajectory").data)
