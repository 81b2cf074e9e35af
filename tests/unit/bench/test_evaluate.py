"""The evaluation: its arithmetic, how conversations are read, and that reports claim no cause where nobody can tell it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from bench import evaluate_steps
from bench.evaluate import scored
from bench.evaluate_data import WHO_AND_WHEN, Absent, Blamed, Data, conversation, labels, message_of, speaker_of
from bench.evaluate_engine import reckoned
from bench.evaluate_scores import (
    Line,
    Located,
    accuracy,
    bootstrap,
    by_chance,
    f1_macro,
    labelled,
    located,
    most_frequent,
    part,
    share,
    table,
)
from bench.evaluate_steps import blames_step, claims, first_cited, report_of
from benchloop_analysis import verdict
from benchloop_analysis.records import File, JobAnalysis, JobInput
from tests.unit.analysis.small import job, say, service, tau

RECORD = {
    "question": "How many?",
    "history": [
        {"content": "I think 7.", "name": "Counting_Expert", "role": "assistant"},
        {"content": "exitcode: 1 (execution failed)\nTraceback (most recent call last)", "name": "Computer_terminal", "role": "user"},
        {"content": "TERMINATE", "name": "Checking_Expert", "role": "assistant"},
    ],
}


def test_steps_are_scored_exactly_and_nearly_and_silence_is_a_miss() -> None:
    score = located([Located(5, 5, 9), Located(5, 6, 9), Located(5, 2, 9), Located(5, 9, 9), Located(5, None, 9)])
    assert (score.of, score.answered, score.exact, score.within_1, score.within_3) == (5, 4, 1, 2, 3)
    assert score.bias == pytest.approx((0 + 1 - 3 + 4) / 4)
    assert str(score).startswith("1 of 5 (20.0 %") and "answered 4 of 5" in str(score)


def test_without_any_answer_there_is_no_bias() -> None:
    score = located([Located(1, None, 3)])
    assert score.bias is None and "bias" not in str(score)


def test_chance_is_the_mean_over_runs() -> None:
    assert by_chance([Located(0, None, 2), Located(0, None, 4)]) == pytest.approx(0.375)


def test_f1_is_the_mean_over_labels_however_frequent() -> None:
    pairs = [("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")]
    assert f1_macro(pairs) == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert accuracy(pairs) == 0.75
    assert f1_macro([("a", None), ("a", "a")]) == pytest.approx(2 / 3)
    assert f1_macro([]) == accuracy([]) == 0.0


def test_always_saying_the_most_frequent_label_looks_good_in_accuracy_only() -> None:
    pairs = most_frequent([("a", None), ("a", None), ("a", None), ("b", None)])
    assert accuracy(pairs) == 0.75
    assert f1_macro(pairs) == pytest.approx((6 / 7) / 2)


def test_a_bootstrap_is_seeded_holds_the_value_and_shrinks_with_data() -> None:
    few, many = [("a", "a"), ("a", "b")] * 5, [("a", "a"), ("a", "b")] * 200
    assert bootstrap(few, accuracy) == bootstrap(few, accuracy)
    low, high = bootstrap(few, accuracy)
    near, far = bootstrap(many, accuracy)
    assert low < near < 0.5 < far < high
    with pytest.raises(ValueError, match="nothing"):
        bootstrap([], accuracy)
    assert labelled([("a", "a")]) == "accuracy 1.00 (1.00–1.00), macro-F1 1.00 (1.00–1.00)"


def test_shares_in_words() -> None:
    assert share(7, 29) == "7 of 29 (24.1 %, 12–42)"
    assert (share(0, 0), part(0, 0), part(1, 3)) == ("0 of 0", "none", "33.3 %")


def test_the_table_says_what_was_missed() -> None:
    rows = [Line("d", "q", "1", "2", "≥ 3", False), Line("d", "q", "1", "2", "≥ 0", True), Line("d", "q", "1")]
    lines = table(row.cells() for row in rows).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert ["MISSED" in line for line in lines] == [False, False, True, False, False]
    assert json.loads(json.dumps(rows[0].as_json()))["met"] is False


def test_a_conversation_of_several_agents_keeps_who_said_what() -> None:
    read = conversation(RECORD, "1")
    assert read.document is not None
    assert [step["source"] for step in read.document["steps"]] == ["user", "agent", "user", "agent"]
    assert (message_of(read, 2), speaker_of(read, 2)) == (0, "Counting_Expert")
    assert (message_of(read, 99), speaker_of(read, 99)) == (None, None)


def test_what_is_absent_is_named(tmp_path: Path) -> None:
    data = Data(tmp_path)
    with pytest.raises(Absent, match="harbor-kimi"):
        data.run("harbor-kimi")
    (tmp_path / "harbor-kimi").mkdir()
    with pytest.raises(Absent, match="no reader"):
        data.run("harbor-kimi")
    rows, notes = scored(data, ["rewards", "steps"])
    assert rows == [] and len(notes) == 2


@pytest.mark.parametrize(
    ("shape", "made"),
    [
        ("output_only", tau(actions=[])),
        ("no_write", tau(actions=[("cancel", {"id": 1})])),
    ],
)
def test_labels_are_reckoned_apart_from_the_engine(shape: str, made: JobInput) -> None:
    assert reckoned(_with_messages(made, [])) == shape


@pytest.mark.parametrize(
    ("shape", "calls"),
    [
        ("output_only", [("cancel", {"id": 1}, "ok"), ("get_order", {"id": 1}, "ok"), ("cancel", {"id": 2}, "Error: no")]),
        ("no_write", [("cancel", {"id": 1}, "Error: no")]),
        ("wrong_argument", [("cancel", {"id": 2}, "ok")]),
        ("wrong_tool", [("refund", {"id": 1}, "ok")]),
        ("unintended", [("cancel", {"id": 1}, "ok"), ("refund", {"id": 1}, "ok")]),
    ],
)
def test_only_changes_that_succeeded_count(shape: str, calls: list[tuple[str, dict[str, int], str]]) -> None:
    messages: list[dict[str, object]] = []
    for name, arguments, answer in calls:
        called = {"function": {"name": name, "arguments": json.dumps(arguments)}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [called]}, {"role": "tool", "content": answer}]
    assert reckoned(_with_messages(tau(actions=[("cancel", {"id": 1})]), messages)) == shape


def _with_messages(made: JobInput, messages: list[dict[str, object]]) -> JobInput:
    record = {**json.loads(made.files[0].text), "traj": messages}
    return JobInput(job_id="j", facts=made.facts, files=(File(path="trial.json", text=json.dumps(record)),))


def test_the_first_cited_step_is_that_of_the_verdict() -> None:
    made = verdict.analyse(tau(service("cancel_order", order="2"), say("Done."), actions=[("cancel_order", {"order": "1"})]))
    assert (first_cited(made), first_cited(made, "actions-"), first_cited(made, "no-such-rule")) == (2, 2, None)


@pytest.mark.parametrize(
    "text", ["The root cause is step 3.", "It was caused by a typo", "The cause is the plan.", "What went wrong in step 4"]
)
def test_claims_of_a_cause_are_recognised(text: str) -> None:
    assert claims(text) is not None


def test_talk_without_calls_is_blamed_on_no_step() -> None:
    made = verdict.analyse(conversation(RECORD, "1"))
    assert made.verdict.fail_reason == "unknown"
    assert first_cited(made) is None and not blames_step(made)


def test_where_to_begin_to_read_is_no_cause() -> None:
    made = verdict.analyse(job(say("Cancel it?"), say("Yes.", "user"), service("cancel_order", order="1")))
    assert made.verdict.tier == "D" and first_cited(made) == 4
    assert not blames_step(made) and "not as the cause" in report_of(made)


def test_no_report_of_who_and_when_claims_to_know_the_step(shared_data: Path) -> None:
    runs = Data(shared_data).who_and_when
    assert len(runs) == len(list((shared_data / WHO_AND_WHEN).glob("*.json"))) > 100
    assert [run.job.job_id for run in runs if blames_step(run.made) or first_cited(run.made) is not None] == []


def test_what_is_said_about_the_hits_of_one_miscount_is_true(shared_data: Path) -> None:
    runs = Data(shared_data).agentrx
    rows = {line.question: line.values or {} for line in evaluate_steps.lines(Data(shared_data)) if line.question.startswith("root step")}
    told = [run for run in runs if any(one.rule_id == "count-without-source" for found in labels(without_files(run)) for one in found)]
    right = sum(run.root == message_of(run.job, first_cited(without_files(run))) for run in told)
    assert [row["exact"] - right for row in rows.values()] == [9, 6]
    assert "9 and 6 of 29" in evaluate_steps.NOT_HELD_OUT and right == 3


def without_files(run: Blamed) -> JobAnalysis:
    return verdict.analyse(msgspec.structs.replace(run.job, files=()))


def test_no_report_of_agentrx_claims_a_root_cause(shared_data: Path) -> None:
    for run in Data(shared_data).agentrx:
        assert claims(report_of(run.made)) is None
