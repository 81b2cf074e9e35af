"""All behaviours in one run: order, steps, landmarks, actions; and whatever stands in a document."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchloop_analysis.behaviours import ACTIONS, CATALOGUE, CATALOGUE_VERSION, LANDMARKS, Features, observe
from benchloop_analysis.behaviours.actions import MOST_ACTIONS
from benchloop_analysis.case import Case
from benchloop_analysis.records import JobInput
from tests.unit.analysis.behaviours.runs import FAILS, PLACES, edit, filler, read, run_tests, seen, user, words, write
from tests.unit.analysis.small import call, job, say, service, sh
from tests.unit.analysis.test_hostile import ARGUMENTS, NAMES, TEXT

TERMINAL = [place for place, behaviour in enumerate(CATALOGUE) if behaviour.timing == "terminal"]
OUTPUT = st.one_of(TEXT, st.none(), st.sampled_from(["=== 1 failed in 1s ===", "Exit code 1\nValueError: x", "x" * 30_000, "\n" * 500]))
STEP = st.one_of(
    st.builds(lambda name, output, failed, say_, args: call(name, output, failed=failed, say=say_, **args), NAMES, OUTPUT,
              st.sampled_from([None, True, False]), TEXT, ARGUMENTS),
    st.builds(say, TEXT, st.sampled_from(["agent", "user", "system"])),
    st.builds(sh, TEXT, OUTPUT),
)  # fmt: skip
WORK = st.sampled_from([edit(), run_tests(FAILS), run_tests(), read(), write(), user(), service("cancel_order", id=1)])
ANYTHING = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.fixture
def long_run() -> JobInput:
    """Nine steps of work after the task's text, two of words, and an answer of the user in between."""
    steps = [
        words("Plan:\n1. read\n2. mend\n3. test"),
        read(),
        edit(),
        user(),
        run_tests(FAILS),
        *filler(2),
        edit(),
        run_tests(),
        words("It works now."),
    ]
    return job(*steps, task="Mend /app/core.py.")


def cut(document: dict[str, Any], turns: int) -> dict[str, Any]:
    """The document as far as the agent's first `turns` steps."""
    ends = [place for place, step in enumerate(document["steps"]) if step["source"] == "agent"]
    return {**document, "steps": document["steps"][: ends[turns - 1] + 1]}


def without_terminal(features: Features) -> tuple[float | None, ...]:
    return tuple(None if place in TERMINAL else value for place, value in enumerate(features.values))


def test_values_and_steps_stand_in_the_order_of_the_catalogue(long_run: JobInput) -> None:
    features = observe(Case(long_run))
    assert features.version == CATALOGUE_VERSION
    assert len(features.values) == len(features.steps) == len(CATALOGUE)
    assert features.values[PLACES["check_after_last_edit"]] == 1
    assert features.steps[PLACES["check_after_last_edit"]] == (10,)
    assert features.n_steps == 9


def test_at_most_five_steps_are_kept() -> None:
    shown = seen(*[step for _ in range(9) for step in (edit(), run_tests())]).steps[PLACES["check_rate"]]
    assert shown == (2, 4, 6, 8, 10)


def test_a_landmark_is_what_the_first_steps_alone_show(long_run: JobInput) -> None:
    features = observe(Case(long_run))
    assert list(features.landmarks) == [4, 8]
    for turns, values in features.landmarks.items():
        assert long_run.document is not None
        alone = msgspec.structs.replace(long_run, document=cut(dict(long_run.document), turns))
        assert values == without_terminal(observe(Case(alone)))
    assert features.landmarks[4] != features.landmarks[8]


@pytest.mark.parametrize("steps", [3, 4, 5, 33, 128, 129])
def test_there_is_a_landmark_for_every_number_of_steps_that_is_passed(steps: int) -> None:
    features = seen(*filler(steps))
    assert list(features.landmarks) == [turns for turns in LANDMARKS if turns < steps]


def test_actions_are_named_and_dated(long_run: JobInput) -> None:
    features = observe(Case(long_run))
    names = [ACTIONS[sign] for sign in features.actions]
    assert names == ["message", "read", "edit", "test_fail", "list", "list", "edit", "test_ok", "message"]
    assert features.action_steps == (2, 1, 1, 2, 1, 1, 1, 1, 1)
    assert features.actions_whole


def test_outcomes_are_told_apart_and_an_unknown_one_is_none() -> None:
    row = seen(sh("pytest", None), sh("pytest | tail", FAILS), sh("make", "fine"), call("Edit", "x", failed=True, file_path="a"))
    assert [ACTIONS[sign] for sign in row.actions] == ["test", "test_fail", "build_ok", "edit_fail"]


def test_a_long_row_of_actions_is_cut_and_says_so() -> None:
    features = seen(*filler(MOST_ACTIONS + 1))
    assert len(features.actions) == len(features.action_steps) == MOST_ACTIONS
    assert not features.actions_whole


def test_every_sign_is_one_character_and_every_name_stands_once() -> None:
    assert {len(sign) for sign in ACTIONS} == {1}
    assert len(set(ACTIONS.values())) == len(ACTIONS)


@pytest.mark.parametrize(
    "given_job", [job(), job(say("hello", "user")), job(say("x", "system"))], ids=["no-document", "no-agent", "system"]
)
def test_without_an_agents_step_nothing_applies(given_job: JobInput) -> None:
    features = observe(Case(given_job))
    assert set(features.values) == {None}
    assert features.n_steps == 0
    assert features.landmarks == {}


def test_features_survive_the_way_to_json_and_back(long_run: JobInput) -> None:
    features = observe(Case(long_run))
    assert msgspec.json.decode(msgspec.json.encode(features), type=Features) == features


@ANYTHING
@given(st.lists(STEP, max_size=12), TEXT)
def test_whatever_stands_in_a_document_something_is_said_and_always_the_same(steps: list[dict[str, Any]], task: str) -> None:
    given_job = job(*steps, task=task)
    features = observe(Case(given_job))
    assert features == observe(Case(given_job))
    assert all(value is None or 0 <= value <= 1 for value in features.values)
    present = {step["step_id"] for step in (given_job.document or {"steps": []})["steps"]}
    assert all(set(shown) <= present for shown in features.steps)


@ANYTHING
@given(st.lists(st.one_of(STEP, WORK), min_size=5, max_size=14))
def test_landmarks_know_nothing_of_what_comes_later(steps: list[dict[str, Any]]) -> None:
    given_job = job(*steps, task="Mend /app/core.py and write /app/out.txt.")
    assert given_job.document is not None
    for turns, values in observe(Case(given_job)).landmarks.items():
        alone = msgspec.structs.replace(given_job, document=cut(dict(given_job.document), turns))
        assert values == without_terminal(observe(Case(alone)))
