"""tau-bench result lists: crashed trials are not failures, messages and calls are all there, and any length fits in memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.outcome import outcome
from benchloop_client.contract.trajectory import counts
from benchloop_client.formats.records import RunJob, UnreadableRun
from benchloop_client.formats.tau import parse_name
from tests.unit.formats.harbor_dirs import groups, read, write


def call(name: str, call_id: str, arguments: str = '{"a": 1}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


TALK = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": None, "tool_calls": [call("look", "c1")]},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "seen"},
    {"role": "assistant", "content": "done", "tool_calls": None},
    {"role": "user", "content": "###STOP###"},
]


def record(task: int = 0, trial: int = 0, reward: float = 1.0, **more: Any) -> dict[str, Any]:
    info = {"task": {"user_id": "u", "actions": [{}]}, "user_cost": 0.01, "source": "user", "reward_info": {"reward": reward, "info": {}}}
    return {"task_id": task, "trial": trial, "reward": reward, "info": info, "traj": TALK, **more}


def crashed(task: int, error: str = "boom", traceback: str = "") -> dict[str, Any]:
    return record(task, reward=0.0, info={"error": error, "traceback": traceback}, traj=[])


def jobs_of(tmp_path: Path, *records: Any, name: str = "gpt-x-airline.json", **options: Any) -> list[RunJob]:
    return read(write(tmp_path / name, json.dumps(list(records), indent=1)), **options)[0]


def test_a_graded_trial(tmp_path: Path) -> None:
    (job,) = jobs_of(tmp_path, record(7, 2))
    facts = job.facts
    assert (facts.task_id, facts.attempt_order, facts.template, facts.model, facts.reward) == ("7", 2, "airline", "gpt-x", 1.0)
    assert (facts.status, facts.error_type, facts.reward_valid, facts.n_input_tokens, facts.cost_usd) == (
        "completed",
        None,
        None,
        None,
        None,
    )
    assert facts.meta["n_messages"] == 6 and facts.meta["user_cost_usd"] == 0.01
    assert [file.path for file in job.files] == ["trial.json"] and json.loads(job.files[0].source) == record(7, 2)  # type: ignore[arg-type]


def test_messages_become_steps_and_results_and_none_is_lost(tmp_path: Path) -> None:
    (job,) = jobs_of(tmp_path, record())
    document = job.trajectory().document  # type: ignore[misc]
    steps = document["steps"]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent", "user"]
    results = [item for step in steps for item in step.get("observation", {}).get("results", [])]
    assert sorted(item["extra"]["message_index"] for item in [*steps, *results]) == list(range(6))
    assert steps[2]["tool_calls"] == [{"tool_call_id": "c1", "function_name": "look", "arguments": {"a": 1}}]
    assert results == [{"source_call_id": "c1", "content": "seen", "extra": {"message_index": 3, "name": "look"}}]
    assert counts(document).n_tool_calls == 1


def test_a_result_without_its_call_is_a_step_of_its_own(tmp_path: Path) -> None:
    talk = [{"role": "tool", "tool_call_id": "gone", "content": "late"}, {"role": "critic", "content": "hm"}, "no message"]
    (job,) = jobs_of(tmp_path, record(traj=talk))
    steps = job.trajectory().document["steps"]  # type: ignore[misc]
    assert steps[0]["observation"]["results"][0]["content"] == "late" and steps[0]["extra"]["tool_call_id"] == "gone"
    assert steps[1]["extra"]["role"] == "critic" and steps[2]["message"] == "no message"


@pytest.mark.parametrize(
    ("error", "traceback", "kind"),
    [
        ("boom", "Traceback …\n  File x\nlitellm.exceptions.RateLimitError: too fast", "RateLimitError"),
        ("KeyError: 'x'", "", "KeyError"),
        ("something odd", "", "UnknownError"),
        ("", "", "UnknownError"),
    ],
)
def test_a_crashed_trial_is_errored_without_reward(tmp_path: Path, error: str, traceback: str, kind: str) -> None:
    (job,) = jobs_of(tmp_path, crashed(1, error, traceback))
    facts = job.facts
    assert (facts.reward, facts.reward_valid, facts.error_type, facts.error_message) == (None, False, kind, error)
    assert job.trajectory is None
    word = outcome(status=facts.status, reward=facts.reward, reward_valid=facts.reward_valid, error_type=facts.error_type)
    assert word == "errored"


def test_an_empty_traj_alone_is_no_error(tmp_path: Path) -> None:
    (job,) = jobs_of(tmp_path, record(traj=[], reward=0.0))
    assert job.facts.reward == 0.0 and job.facts.error_type is None and job.trajectory is None


def test_a_conversation_that_cannot_be_read_is_left_out_and_its_facts_say_so(tmp_path: Path) -> None:
    deep = json.loads("[" * 400 + "]" * 400)
    (job,) = jobs_of(tmp_path, record(0, traj=[{"role": "user", "content": deep}]))
    assert job.trajectory is None and job.facts.reward == 1.0
    assert job.facts.meta["trajectory_problem"].startswith("traj: ")


def test_bad_records_are_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", json.dumps([record(0), {"task_id": 1}, "text", record(0), record(2)]))
    jobs, rejected = read(path)
    assert [job.facts.task_id for job in jobs] == ["0", "2"]
    assert [item.source for item in rejected] == ["r.json[1]", "r.json[2]", "r.json[3]"]


def test_a_torn_list_gives_what_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", json.dumps([record(0), record(1), record(2)])[:-100])
    jobs, rejected = read(path, format="tau")
    assert [job.facts.task_id for job in jobs] == ["0", "1"] and [item.source for item in rejected] == ["r.json[2]"]


def test_the_group_stays_while_the_list_grows(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", json.dumps([record(0)]))
    (before,) = groups(path)
    write(path, json.dumps([record(0), record(1)]))
    assert groups(path)[0].group_id == before.group_id


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"[1]", b'[{"a": 1}]', b"nope", b"[" + b"[" * 100_000])
def test_what_is_no_result_list_is_refused(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(UnreadableRun, match=r"r\.json"):
        groups(write(tmp_path / "r.json", raw), format="tau")


def test_names_tell_model_and_user() -> None:
    named = parse_name("tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-mini-llm_0917195402")
    assert (named.strategy, named.model, named.temperature, named.user_model, named.user_strategy) == (
        "tool-calling", "gpt-4o", 0.0, "gpt-4o-mini", "llm",
    )  # fmt: skip
    assert (parse_name("sonnet-35-new-retail").model, parse_name("sonnet-35-new-retail").domain) == ("sonnet-35-new", "retail")
    assert parse_name("whatever").model is None


def test_the_callers_names_win(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", json.dumps([record()]))
    (group,) = groups(path, model="m", benchmark="b", step=3, group="G")
    assert (group.group_id, group.facts.model, group.facts.benchmark) == ("G", "m", "b")
    (job,) = read(path, model="m", step=3)[0]
    assert (job.facts.model, job.facts.step) == ("m", 3) and job.trajectory().document["agent"]["model_name"] == "m"  # type: ignore[misc]


def test_damaged_text_is_read_all_the_same(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "cut \ud83d"}]
    raw = json.dumps([record(traj=talk)]).encode().replace(b"policy", b"pol\xff")
    (job,) = read(write(tmp_path / "r.json", raw))[0]
    assert job.trajectory().document["steps"][0]["message"] == "cut \ufffd"  # type: ignore[misc]
    assert "surrogates" in job.facts.meta["lossy"]


def test_memory_does_not_grow_with_the_list(tmp_path: Path) -> None:
    big = [{"role": "user", "content": "x" * 20_000}]
    path = tmp_path / "r.json"
    with path.open("w") as out:
        out.write("[" + ",\n".join(json.dumps(record(n, traj=big)) for n in range(2000)) + "]")
    tracemalloc.start()
    count = sum(1 for job in groups(path)[0].jobs() if isinstance(job, RunJob))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 2000 and path.stat().st_size > 40_000_000 and peak < 12_000_000


def test_one_record_longer_than_the_window(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "ü" * 3_000_000}]
    jobs = jobs_of(tmp_path, record(0, traj=talk), record(1))
    assert [job.facts.task_id for job in jobs] == ["0", "1"]
