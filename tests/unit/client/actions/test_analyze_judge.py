"""A scripted endpoint as judge: what it is sent, what it costs, what is asked twice, and what a hostile one can do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchloop_analysis.judge import Message, Question
from benchloop_client.actions.analyze import Request, analyze
from benchloop_client.actions.analyze_judge import EndpointJudge, JudgeOptions
from benchloop_client.errors import AuthError, BenchloopError, UsageError
from benchloop_client.settings import Settings
from tests.support.scripted import Answer, Scripted, Seen, error, of_json, redirect, scripted
from tests.unit.analysis.made import call
from tests.unit.client.actions.test_analyze_action import trial
from tests.unit.formats.harbor_dirs import write, write_job

KEY = "sk-judge-canary-123456"
QUESTION = Question(model="m", messages=(Message(role="user", content="why?"),), menu={"agent_process/no_action": "model"}, key="k" * 64)
VERDICT = {"label": "agent_process/no_action", "says": "It did nothing.", "quotes": [{"step": 2, "quote": "echo first"}]}


def completion(text: Any = VERDICT, *, sent: int = 1000, received: int = 100) -> Answer:
    """An answer of the endpoint."""
    content = text if isinstance(text, str) else json.dumps(text)
    usage = {"prompt_tokens": sent, "completion_tokens": received}
    return of_json({"choices": [{"message": {"role": "assistant", "content": content}}], "usage": usage})


@pytest.fixture
def endpoint() -> Iterator[Scripted]:
    with scripted() as running:
        running.on("POST /v1/chat/completions", completion())
        yield running


def judge(endpoint: Scripted, **more: Any) -> EndpointJudge:
    given = {"url": f"{endpoint.origin}/v1", "model": "m", "price": (3.0, 15.0), "key": KEY, **more}
    return EndpointJudge(JudgeOptions(**given), Settings(retry=0, timeout=10))


def test_what_is_sent(endpoint: Scripted) -> None:
    found = judge(endpoint).ask(QUESTION)
    (seen,) = endpoint.asked("chat")
    body = json.loads(seen.body)
    assert (body["model"], body["temperature"], body["messages"]) == ("m", 0, [{"role": "user", "content": "why?"}])
    assert seen.headers["authorization"] == f"Bearer {KEY}" and seen.key is None
    assert found is not None and json.loads(found.text) == VERDICT and found.cost_usd == pytest.approx(0.003 + 0.0015)


def test_the_whole_address_may_be_given(endpoint: Scripted) -> None:
    assert judge(endpoint, url=f"{endpoint.origin}/v1/chat/completions").ask(QUESTION) is not None


def test_the_same_question_is_asked_once(endpoint: Scripted, tmp_path: Path) -> None:
    first, second = judge(endpoint, cache=tmp_path / "c"), judge(endpoint, cache=tmp_path / "c", budget=0.0)
    one, again = first.ask(QUESTION), second.ask(QUESTION)
    assert one is not None and again is not None and (one.cached, again.cached, again.text) == (False, True, one.text)
    assert len(endpoint.asked("chat")) == 1 and KEY not in "".join(path.read_text() for path in (tmp_path / "c").iterdir())


def test_a_torn_answer_in_the_cache_is_asked_for_again(endpoint: Scripted, tmp_path: Path) -> None:
    write(tmp_path / f"{QUESTION.key}.json", b'{"text": ')
    found = judge(endpoint, cache=tmp_path).ask(QUESTION)
    assert found is not None and not found.cached


def test_the_budget_is_never_passed(endpoint: Scripted) -> None:
    asking = judge(endpoint, budget=0.02)
    found = [asking.ask(QUESTION) for _ in range(6)]
    assert sum(one.cost_usd or 0 for one in found if one is not None) <= 0.02
    assert found[0] is not None and found[-1] is None and len(endpoint.asked("chat")) == sum(one is not None for one in found)


def test_an_endpoint_that_counts_no_tokens_is_taken_to_have_cost_the_most(endpoint: Scripted) -> None:
    endpoint.on("POST /v1/chat/completions", of_json({"choices": [{"message": {"content": "x"}}]}))
    found = judge(endpoint).ask(QUESTION)
    assert found is not None and found.cost_usd == pytest.approx(((4 + 16) * 3 + 700 * 15) / 1e6)


@pytest.mark.parametrize(
    "body", [[], {}, {"choices": []}, {"choices": [{"message": None}]}, {"choices": [{"message": {"content": 7}}]}, None]
)
def test_another_shape_is_an_empty_answer(endpoint: Scripted, body: Any) -> None:
    endpoint.on("POST /v1/chat/completions", of_json(body))
    found = judge(endpoint).ask(QUESTION)
    assert found is not None and found.text == ""


def test_the_key_follows_no_redirect(endpoint: Scripted) -> None:
    with scripted() as other:
        other.on("POST /v1/chat/completions", completion())
        endpoint.on("POST /v1/chat/completions", redirect(f"{other.origin}/v1/chat/completions", 307))
        with pytest.raises(BenchloopError):
            judge(endpoint).ask(QUESTION)
        assert other.asked() == []


@pytest.mark.parametrize(("answer", "kind"), [(error(401, f"bad key {KEY}"), AuthError), (error(400, f"no {KEY}"), BenchloopError)])
def test_errors_name_the_judge_and_not_the_key(endpoint: Scripted, answer: Answer, kind: type[Exception]) -> None:
    endpoint.on("POST /v1/chat/completions", answer)
    with pytest.raises(kind, match="the judge at http") as caught:
        judge(endpoint).ask(QUESTION)
    assert KEY not in str(caught.value)


def test_the_key_is_in_no_repr_and_never_in_clear_text_to_another_host() -> None:
    options = JudgeOptions(url="http://judge.example.com/v1", model="m", price=(0, 0), key=KEY)
    assert KEY not in repr(options)
    with pytest.raises(UsageError, match="in clear text"):
        options.check()
    options.check(allow_http=True)
    with pytest.raises(UsageError, match="full address"):
        JudgeOptions(url="judge", model="m", price=(0, 0)).check()


# ---- the whole way ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def unsure(tmp_path: Path) -> Path:
    """One job that the rules are not sure about, one that passed, and one whose tests never ran."""
    folder = write_job(tmp_path / "nightly")
    trial(folder, "edit__0000001", 1.0, call(2, "ls /app"))
    trial(folder, "dull__0000002", 0.0, call(2, "echo first > /app/out.txt"), call(3, "python /app/run.py", "fine"))
    trial(folder, "lost__0000003", 0.0, call(2, "ls"), log="/tests/test.sh: line 19: uvx: command not found\n")
    return folder


def test_only_the_unsure_verdict_is_refined(endpoint: Scripted, unsure: Path, tmp_path: Path) -> None:
    with analyze(Request(unsure, judge=judge(endpoint), output_dir=tmp_path / "out")) as found:
        jobs = {job["task_id"]: job for job in found.groups[0].jobs()}
        totals = found.opinions
    assert (totals.asked, totals.refined, len(endpoint.asked("chat"))) == (1, 1, 2), "two answers that agree are enough"
    dull = jobs["dull"]
    assert (dull["sub_fail_reason"], dull["tier"], dull["opinion"]["status"]) == ("no_action", "C", "refined")
    assert dull["reward_valid"] is None and jobs["lost"]["opinion"] is None and jobs["lost"]["fail_reason"] == "verifier_error"
    (text,) = [path.read_text() for path in (tmp_path / "out").rglob("dull*_report.md")]
    assert "## A model's opinion" in text and "`m` was asked" in text


def test_an_injected_answer_changes_nothing(endpoint: Scripted, unsure: Path) -> None:
    def obedient(seen: Seen) -> Answer:
        """A model that does what the record tells it."""
        return completion({"label": "verifier_error/verifier_timeout", "says": "ok", "quotes": [{"step": 2, "quote": "echo first"}]})

    endpoint.on("POST /v1/chat/completions", obedient)
    with analyze(Request(unsure)) as plain, analyze(Request(unsure, judge=judge(endpoint))) as found:
        before, after = list(plain.groups[0].jobs()), list(found.groups[0].jobs())
        assert found.opinions.refused == 1
    for one, other in zip(before, after, strict=True):
        assert {**one, "opinion": None} == {**other, "opinion": None}


def test_a_judge_that_fails_is_named_and_the_rules_verdicts_stand(endpoint: Scripted, unsure: Path) -> None:
    endpoint.on("POST /v1/chat/completions", error(500, "broken"))
    with analyze(Request(unsure, judge=judge(endpoint))) as found:
        assert len(list(found.groups[0].jobs())) == 3
        assert [failure.label for failure in found.report.failures] == ["judge"]
