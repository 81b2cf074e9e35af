"""What a Harbor trial's result becomes: reward, error and validity stay three facts, and what is not recorded stays unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.outcome import outcome
from benchloop_client.contract.resources import JobFacts
from tests.unit.formats.harbor_dirs import JOB_ID, config, read, write, write_job, write_trial


def facts(folder: Path, name: str = "task__abcdefg", options: dict[str, Any] | None = None, **result: Any) -> JobFacts:
    write_job(folder)
    write_trial(folder, name, **result)
    jobs, rejected = read(folder, **(options or {}))
    assert not rejected and len(jobs) == 1
    return jobs[0].facts


def told(job: JobFacts) -> str | None:
    return outcome(status=job.status, reward=job.reward, reward_valid=job.reward_valid, error_type=job.error_type)


def test_a_plain_result(tmp_path: Path) -> None:
    job = facts(tmp_path)
    assert (job.task_id, job.instance_id, job.template) == ("task", "task", "house")
    assert (job.status, job.reward, job.reward_key, job.agent, job.agent_version, job.model) == (
        "completed", 1.0, "reward", "coder", "1.2", "model-a",
    )  # fmt: skip
    assert (job.n_input_tokens, job.n_cache_tokens, job.n_output_tokens, job.cost_usd) == (10, None, 2, None)
    assert (job.started_at, job.finished_at) == ("2026-01-01T10:00:00.500000Z", "2026-01-01T10:00:00Z")
    assert job.trial_key == f"{JOB_ID}/task__abcdefg"


@pytest.mark.parametrize(
    ("rewards", "option", "key", "value"),
    [
        ({"reward": 0.5, "lines": 3}, None, "reward", 0.5),
        ({"score": 2}, None, "score", 2.0),
        ({"a": 1, "b": 2}, None, None, None),
        ({"a": 1, "b": 2}, "b", "b", 2.0),
        ({"reward": 0, "lines": 3}, "lines", "lines", 3.0),
        ({"reward": 0}, "absent", "reward", 0.0),
        ({"reward": "nonsense"}, None, "reward", None),
        ({"reward": True}, None, "reward", 1.0),
        ({}, None, None, None),
    ],
)
def test_the_primary_reward(tmp_path: Path, rewards: dict[str, Any], option: str | None, key: str | None, value: float | None) -> None:
    job = facts(tmp_path, options={"reward_key": option}, verifier_result={"rewards": rewards})
    assert (job.reward_key, job.reward) == (key, value)
    assert list(job.rewards) == list(rewards)


_TIMEOUT = {"exception_type": "AgentTimeoutError", "exception_message": "slow"}
_NO_POLICY = {"exception_type": "VerifierTimeoutError", "exception_message": "slow"}


@pytest.mark.parametrize(
    ("more", "valid", "word"),
    [
        ({}, None, "passed"),
        ({"reward_valid": True}, True, "passed"),
        ({"reward_valid": False}, False, "ungraded"),
        ({"exception_info": _TIMEOUT}, None, "passed"),
        ({"exception_info": {**_TIMEOUT, "policy": {"has_valid_reward": True}}}, True, "passed"),
        ({"exception_info": {**_TIMEOUT, "policy": {"has_valid_reward": False}}}, False, "errored"),
        ({"exception_info": _NO_POLICY, "verifier_result": {"rewards": None}}, False, "errored"),
        ({"exception_info": _NO_POLICY}, False, "errored"),
        ({"verifier_result": None}, None, "ungraded"),
    ],
)
def test_validity_is_told_or_unknown(tmp_path: Path, more: dict[str, Any], valid: bool | None, word: str) -> None:
    job = facts(tmp_path, **more)
    assert job.reward_valid is valid and told(job) == word


def test_an_exception_with_a_reward_keeps_both(tmp_path: Path) -> None:
    job = facts(tmp_path, exception_info=_TIMEOUT, verifier_result={"rewards": {"reward": 0.0}})
    assert (job.error_type, job.error_message, job.reward, told(job)) == ("AgentTimeoutError", "slow", 0.0, "failed")


def test_a_cancelled_trial(tmp_path: Path) -> None:
    job = facts(tmp_path, exception_info={"exception_type": "CancelledError"}, verifier_result=None)
    assert (job.status, job.error_type, told(job)) == ("cancelled", "CancelledError", "errored")


def test_times_without_a_zone_are_unknown(tmp_path: Path) -> None:
    job = facts(tmp_path, started_at="2026-01-01T10:00:00", finished_at=None)
    assert job.started_at is None and job.finished_at is None


def test_a_multi_step_trial_adds_up_what_its_steps_record(tmp_path: Path) -> None:
    steps = [
        {
            "step_name": "one",
            "agent_result": {"n_input_tokens": 5, "n_output_tokens": None, "cost_usd": 0.25},
            "agent_execution": {"started_at": "2026-01-01T00:00:01Z", "finished_at": "2026-01-01T00:00:02Z"},
            "verifier_result": {"rewards": {"reward": 1}},
        },
        {
            "step_name": "two",
            "agent_result": {"n_input_tokens": 7, "n_output_tokens": None, "cost_usd": 0.5},
            "agent_execution": {"started_at": "2026-01-01T00:00:03Z", "finished_at": "2026-01-01T00:00:04Z"},
            "exception_info": {"exception_type": "NonZeroAgentExitCodeError"},
        },
    ]
    job = facts(tmp_path, agent_result=None, step_results=steps, verifier_result={"rewards": {"reward": 0.5}})
    assert (job.n_input_tokens, job.n_output_tokens, job.cost_usd, job.reward) == (12, None, 0.75, 0.5)
    assert job.error_type == "NonZeroAgentExitCodeError"
    assert (job.phases["agent_execution"].started_at, job.phases["agent_execution"].finished_at) == (
        "2026-01-01T00:00:01Z", "2026-01-01T00:00:04Z",
    )  # fmt: skip
    assert [step["step_name"] for step in job.meta["trial_steps"]] == ["one", "two"]


def test_a_running_trial_keeps_its_ids_when_it_ends(tmp_path: Path) -> None:
    write(tmp_path / "task__abcdefg" / "config.json", config("task__abcdefg"))
    running = read(tmp_path)[0][0].facts
    assert (running.status, running.reward, running.reward_valid, running.started_at) == ("running", None, None, None)
    assert told(running) is None
    ended = facts(tmp_path)
    assert (ended.trial_key, ended.task_id) == (running.trial_key, running.task_id)


def test_a_long_message_is_cut_visibly(tmp_path: Path) -> None:
    job = facts(tmp_path, exception_info={"exception_type": "E", "exception_message": "x" * 9000})
    assert job.error_message is not None and job.error_message.endswith("(9000 characters, whole in result.json)")


def test_the_callers_model_wins_and_the_step_is_set(tmp_path: Path) -> None:
    job = facts(tmp_path, options={"model": "other", "step": 40})
    assert (job.model, job.step) == ("other", 40)


def test_configuration_values_do_not_reach_the_facts(tmp_path: Path) -> None:
    write_job(tmp_path)
    own = config("a__1111111")
    own["agent"]["env"] = {"TOKEN": "value-to-hide"}
    write(write_trial(tmp_path, "a__1111111") / "config.json", own)
    job = read(tmp_path)[0][0].facts
    assert "value-to-hide" not in repr(job)
