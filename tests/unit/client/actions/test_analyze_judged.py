"""A model's opinion on behaviour: what it is shown, what of its answers is believed, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchloop_analysis.behaviours import judged
from benchloop_analysis.case import Case
from benchloop_analysis.judge import Answer, Question
from benchloop_analysis.records import Facts, JobInput
from benchloop_client.actions.analyze import Request, analyze
from benchloop_client.errors import NetworkError
from benchloop_client.samples.generator import write_samples
from tests.support.pushing import document


def case_of(text: str = "I must not touch the tests.", steps: int = 3) -> Case:
    """A job that failed, whose steps say `text` and their number."""
    facts = Facts(task_id="t", status="completed", reward=0.0)
    value = json.loads(document("j", "g", steps=steps, text=text))
    return Case(JobInput(job_id="j", facts=facts, document=value, files=(), siblings=None))


def said(**answers: Any) -> Answer:
    """An answer of a model."""
    return Answer(text=json.dumps(answers), cost_usd=0.01)


def test_the_model_sees_the_steps_and_neither_reward_nor_rules() -> None:
    asked = judged.question(case_of(), "m")
    assert asked is not None
    shown = asked.messages[1].content
    assert "must not touch the tests. 1" in shown
    assert "RESULT" not in shown
    assert "reward" not in shown.lower()
    other = judged.question(case_of(), "other")
    assert other is not None
    assert other.key != asked.key


def test_a_long_run_is_cut_in_the_middle() -> None:
    asked = judged.question(case_of(text="x" * 500, steps=900), "m")
    assert asked is not None
    assert len(asked.messages[1].content) < 41_000
    assert "some in the middle were left out" in asked.messages[1].content


def test_a_yes_counts_with_true_quotes_only() -> None:
    case = case_of()
    true, false = {"step": 2, "quote": "must not touch"}, {"step": 2, "quote": "must touch all"}
    found = judged.believed(said(
        J1={"answer": "yes", "quotes": [true]}, J2={"answer": "yes", "quotes": [true, false]}, J3={"answer": "no"}, J4={"answer": "unsure"},
    ), case)  # fmt: skip
    assert found.features is not None
    assert found.features.values == (1.0, None, 0.0, None)
    assert found.features.steps == ((2,), (), (), ())
    assert found.refused == 1
    for quotes in ([], [true] * 4, [{"step": 9, "quote": "must not touch"}], [{"step": 2, "quote": "must"}]):
        again = judged.believed(said(J1={"answer": "yes", "quotes": quotes}), case)
        assert again.features is not None
        assert again.features.values[0] is None


@pytest.mark.parametrize("text", ["", "[]", '{"J1": "yes"}', '{"J1": {"answer": "maybe"}}', '{"J1": {"answer": "no", "more": 1}}', "{" * 9])
def test_an_answer_of_another_form_is_not_believed(text: str) -> None:
    assert judged.believed(Answer(text=text), case_of()).features is None


class Model:
    """Says that every job states a hypothesis in its first step, and rests on nothing unfounded."""

    model = "m"

    def __init__(self, most: int = 1_000) -> None:
        self.most = most
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Answer | None:
        """See `Judge`."""
        if "Answer each with" not in question.messages[0].content:
            return None
        if len(self.asked) >= self.most:
            return None
        self.asked.append(question)
        return said(J3={"answer": "no"}, J4={"answer": "yes", "quotes": [{"step": 1, "quote": "not in the record"}]})


def run_of(tmp_path: Path) -> Path:
    """A small run."""
    write_samples(tmp_path / "runs")
    return tmp_path / "runs" / "step-100"


def test_opinions_are_a_category_of_their_own(tmp_path: Path) -> None:
    model = Model()
    with analyze(Request(run_of(tmp_path), judge=model, brm=True, judge_behaviours=6)) as found:
        brm = found.groups[0].brm
    assert brm is not None
    told = brm["judged"]
    assert 6 <= told["asked"] == len(model.asked) < 20
    assert (told["model"], told["refused"], told["unusable"], told["unasked"]) == ("m", told["asked"], 0, 0)
    assert told["cost_usd"] == pytest.approx(0.01 * told["asked"])
    assert {pattern["category"] for pattern in told["behaviorPatterns"]} == {"judged"}
    assert {pattern["name"]: pattern["prevalence"] for pattern in told["behaviorPatterns"]}["unfounded_assumption"] == 0.0
    assert "judged" not in {pattern["category"] for pattern in brm["behaviorPatterns"]}
    assert not any(one["id"].startswith("J") for one in brm["model"]["coefficients"])


def test_the_budget_ends_the_questions(tmp_path: Path) -> None:
    with analyze(Request(run_of(tmp_path), judge=Model(2), brm=True, judge_behaviours=6)) as found:
        assert found.groups[0].brm is not None
        told = found.groups[0].brm["judged"]
    assert told["asked"] == 2
    assert told["unasked"] >= 4


class Broken(Model):
    """Answers nobody."""

    def ask(self, question: Question) -> Answer | None:
        """See `Judge`."""
        raise NetworkError("no answer")


def test_a_judge_that_breaks_costs_opinions_only(tmp_path: Path) -> None:
    with analyze(Request(run_of(tmp_path), judge=Broken(), brm=True, judge_behaviours=6)) as found:
        assert found.groups[0].brm is not None
        assert found.groups[0].brm["judged"]["asked"] == 0
        assert found.groups[0].brm["summaryData"]["n"] > 0
        assert [str(failure.error) for failure in found.report.failures] == ["network: no answer"]


def test_without_the_wish_nobody_is_asked(tmp_path: Path) -> None:
    model = Model()
    with analyze(Request(run_of(tmp_path), judge=model, brm=True)) as found:
        assert found.groups[0].brm is not None
        assert "judged" not in found.groups[0].brm
    assert model.asked == []
