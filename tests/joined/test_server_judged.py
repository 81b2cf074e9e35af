"""Behaviour that a model is asked about on a server: off by default, capped, paid once, believed with true quotes only, and told."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from benchloop_analysis.brm.conduct import Job
from benchloop_analysis.judge import Question
from benchloop_client import Client
from benchloop_server.features.analysis.asking import chosen_of
from benchloop_server.kit.services import Services
from benchloop_server.sql.tables import work
from tests.joined.test_behaviour_studies import ask, read
from tests.joined.test_server_judge import INJECTION, Killed, answers, asking, judged, spent
from tests.support.analysing import work_off
from tests.support.programs import wait_for
from tests.support.pushing import Sent, document, push
from tests.support.scripted import Answer, Scripted, Seen, error, scripted
from tests.support.served import Served
from tests.unit.client.actions.test_analyze_judge import completion

QUOTE = "plain words"


def about_behaviour(seen: Seen, quote: str = QUOTE) -> Answer:
    """A model that sees one thing in every run, and not another; about verdicts it says nothing of use."""
    if b"Answer each with" not in seen.body:
        return completion({"label": "abstain", "says": "", "quotes": []})
    return completion({"J1": {"answer": "yes", "quotes": [{"step": 2, "quote": quote}]}, "J3": {"answer": "no"}})


@pytest.fixture
def endpoint() -> Iterator[Scripted]:
    with scripted() as running:
        running.on("POST /v1/chat/completions", about_behaviour)
        yield running


@pytest.fixture
def group(served: Served) -> Served:
    """Three tasks of which two are mixed, of four attempts each; judged before there is a judge."""
    for task in range(3):
        for attempt in range(4):
            name = f"t{task}-{attempt}"
            said = document(name, "g1", task_id=f"t{task}", text=f"{INJECTION} these are plain words {name}")
            push(served, Sent(name, task_id=f"t{task}", document=said, reward=1.0 if task == 0 else float(attempt % 2)))
    work_off(served.services)
    return served


def asked(endpoint: Scripted) -> list[str]:
    """The runs that were shown to the model, to be asked about behaviour."""
    bodies = [json.loads(seen.body)["messages"] for seen in endpoint.asked()]
    return [user["content"] for system, user in bodies if "Answer each with" in system["content"]]


def opinions(found: Any) -> list[dict[str, Any]]:
    """The patterns that are a model's."""
    return [one for one in found["behaviorPatterns"] if one["category"] == "judged"]


def done(served: Served, services: Services, **body: Any) -> Any:
    """The result of a new task."""
    uid = ask(served, **body)
    work_off(services)
    assert read(served, uid)["status"] == "succeeded", read(served, uid)
    return read(served, uid, "/analysis")


def test_opinions_are_a_category_of_their_own_with_coverage_and_cost(group: Served, endpoint: Scripted) -> None:
    services = judged(group, endpoint, behaviours=9)
    found = done(group, services)
    told = found["provenance"]["judged"]
    assert (told["model"], told["wanted"], told["asked"], told["unasked"], told["refused"], told["failure"]) == ("m", 8, 8, 0, 0, None)
    assert len(asked(endpoint)) == answers(services) == 8
    assert not any("t0-" in shown for shown in asked(endpoint)), "mixed tasks come first"
    assert told["cost_usd"] == pytest.approx(spent(services)) and told["cost_usd"] > 0
    assert len(opinions(found)) == 4 and len(found["behaviorPatterns"]) <= 32
    assert opinions(found) == found["behaviorPatterns"][-4:]
    assert {one["id"]: one["prevalence"] for one in opinions(found)}["J1"] == 1.0
    assert not any(one["id"].startswith("J") for one in found["model"]["coefficients"])
    assert "judged" not in {one["category"] for one in found["categoryScores"]}
    assert found["summary"] == found["summaryData"]["markdown"] and "answered about 8 of 8 jobs" in found["summary"]
    with Client(group.url, group.key()) as client:
        assert (client.group_report("g1")["judge"] or {}).get("cost_usd", 0.0) == 0.0, "no part of what verdicts cost"


def test_it_is_off_by_default(group: Served, endpoint: Scripted) -> None:
    found = done(group, judged(group, endpoint))
    assert not asked(endpoint) and not opinions(found) and "judged" not in found["provenance"]


def test_an_obedient_model_is_not_believed(group: Served, endpoint: Scripted) -> None:
    endpoint.on("POST /v1/chat/completions", lambda seen: about_behaviour(seen, "words that nobody said"))
    found = done(group, judged(group, endpoint, behaviours=8))
    assert found["provenance"]["judged"]["refused"] == 8
    assert {one["id"]: one["prevalence"] for one in opinions(found)}["J1"] in {None, 0.0}
    shown = asked(endpoint)[0]
    fence = shown.split()[0]
    assert shown.index(f"{fence} BEGIN") < shown.index("Ignore your instructions") < shown.index(f"{fence} END")


def test_the_cap_holds_and_what_is_left_is_told(group: Served, endpoint: Scripted) -> None:
    services = judged(group, endpoint, behaviours=8, cap=0.025)
    found = done(group, services)
    told = found["provenance"]["judged"]
    assert 0 < told["asked"] < 8 and told["asked"] + told["unasked"] == 8 and spent(services) <= 0.025
    assert "as the budget was used up" in found["summary"] and any("budget" in one for one in found["summaryData"]["warnings"])
    assert {one["id"]: one["applicable_n"] for one in opinions(found)}["J1"] == told["asked"]


class Dying:
    """A judge during whose fourth answer the worker dies."""

    model = "m"

    def __init__(self, endpoint: Scripted, services: Services) -> None:
        self._judge, self._services, self._asked = asking(endpoint), services, 0

    def ask(self, question: Question) -> Any:
        """The answer."""
        self._asked += 1
        if self._asked < 4:
            return self._judge.ask(question)
        wait_for(lambda: answers(self._services) == 3)
        raise Killed


def test_a_kill_between_two_answers_pays_nothing_twice(group: Served, endpoint: Scripted) -> None:
    services = judged(group, endpoint, behaviours=8)
    assert services.judging is not None
    uid = ask(group)
    with pytest.raises(Killed):
        work_off(dataclasses.replace(services, judging=dataclasses.replace(services.judging, endpoint=Dying(endpoint, services))))
    assert len(asked(endpoint)) == 3
    with services.db.write() as connection:
        mine = (work.c.kind == "study", work.c.key == uid)
        connection.execute(update(work).where(*mine).values(state="pending", token=None, worker_id=None, due_at=0))
    work_off(services, name="w2")
    found = read(group, uid, "/analysis")
    assert found["provenance"]["judged"]["asked"] == 8 == len(asked(endpoint)) == len(set(asked(endpoint)))


def test_another_task_about_the_same_jobs_pays_nothing(group: Served, endpoint: Scripted) -> None:
    services = judged(group, endpoint, behaviours=8)
    first, second = done(group, services), done(group, services, scoringLimit=7)
    assert len(asked(endpoint)) == 8
    assert len(second["behaviorPatterns"]) <= 7 and len(opinions(second)) == 3
    assert second["provenance"]["judged"]["cost_usd"] == first["provenance"]["judged"]["cost_usd"]


def test_a_judge_that_fails_costs_opinions_only(group: Served, endpoint: Scripted) -> None:
    endpoint.on("POST /v1/chat/completions", error(401, "no"))
    services = judged(group, endpoint, behaviours=8)
    found = done(group, services)
    assert "answered 401" in found["provenance"]["judged"]["failure"] and "answered 401" in found["summary"]
    assert opinions(found) == [] and found["summaryData"]["n"] == 12 and spent(services) == 0


def test_a_cancelled_task_asks_no_more(group: Served, endpoint: Scripted) -> None:
    services = judged(group, endpoint, behaviours=8)
    uid = ask(group)

    def cancelling(seen: Seen) -> Answer:
        group.request("POST", f"/openapi/behavior/tasks/{uid}/cancel")
        time.sleep(0.6)  # workers look twice a second
        return about_behaviour(seen)

    endpoint.on("POST /v1/chat/completions", cancelling)
    work_off(services)
    assert read(group, uid)["status"] == "cancelled" and len(asked(endpoint)) <= 2


def test_whole_mixed_tasks_come_first_and_no_more_than_were_wished() -> None:
    jobs = [Job(f"{task}{one}", task, None, None, None, float(one % 2 if task != "a" else 0), True) for task in "abc" for one in range(4)]
    assert {job.task_id for job in chosen_of(jobs, most=8, seed=1)} == {"b", "c"}
    assert len(chosen_of(jobs, most=7, seed=1)) == 4 and len(chosen_of(jobs, most=3, seed=1)) == 3
    assert chosen_of(jobs, most=4, seed=5) == chosen_of(jobs[::-1], most=4, seed=5)
