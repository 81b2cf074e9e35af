"""The readers over real run data, compared with the source files themselves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.ids import mint_job_id
from benchloop_client.contract.outcome import outcome
from benchloop_client.contract.resources import JobFacts
from benchloop_client.contract.trajectory import check_strict, counts, normalise
from benchloop_client.formats.harbor.facts import TrialFiles, task_name
from benchloop_client.formats.records import RunJob
from tests.unit.formats.harbor_dirs import groups, read, read_group


def word(facts: JobFacts) -> str | None:
    return outcome(status=facts.status, reward=facts.reward, reward_valid=facts.reward_valid, error_type=facts.error_type)


@pytest.fixture(scope="module")
def kimi(shared_data: Path) -> Path:
    return shared_data / "harbor-kimi" / "kimi_k2.5"


@pytest.fixture(scope="module")
def kimi_jobs(kimi: Path) -> list[RunJob]:
    jobs, rejected = read(kimi)
    assert not rejected
    return jobs


def test_kimi_has_62_of_89_jobs(kimi: Path, kimi_jobs: list[RunJob]) -> None:
    (group,) = groups(kimi)
    assert (len(kimi_jobs), group.facts.expected) == (62, 89)
    assert sum(job.trajectory is not None for job in kimi_jobs) == 57
    assert Counter(word(job.facts) for job in kimi_jobs) == {"passed": 4, "failed": 57, "errored": 1}
    assert len({mint_job_id(group.group_id, job.facts.trial_key, job.facts.task_id) for job in kimi_jobs}) == 62


def test_kimis_trajectories_equal_their_sources(kimi: Path, kimi_jobs: list[RunJob]) -> None:
    for job in kimi_jobs:
        if job.trajectory is None:
            continue
        source = json.loads((kimi / job.location / "agent" / "trajectory.json").read_bytes())
        document = job.trajectory().document
        check_strict(document)
        assert document == normalise(source).document and document["steps"] == source["steps"]
        counted, totals = counts(document), source["final_metrics"]
        assert counted.n_steps == len(source["steps"])
        assert counted.n_tool_calls == sum(len(step.get("tool_calls") or ()) for step in source["steps"])
        assert (counted.prompt_tokens, counted.completion_tokens, counted.cached_tokens) == (
            totals["total_prompt_tokens"], totals["total_completion_tokens"], totals["total_cached_tokens"],
        )  # fmt: skip


def test_kimis_facts_equal_their_results(kimi: Path, kimi_jobs: list[RunJob]) -> None:
    for job in kimi_jobs:
        source = json.loads((kimi / job.location / "result.json").read_bytes())
        facts, agent = job.facts, source["agent_result"] or {}
        assert (facts.task_id, facts.started_at) == (source["task_name"], source["started_at"])
        assert (facts.n_input_tokens, facts.n_output_tokens) == (agent.get("n_input_tokens"), agent.get("n_output_tokens"))
        error = (source["exception_info"] or {}).get("exception_type")
        assert facts.error_type == error and facts.reward == ((source["verifier_result"] or {}).get("rewards") or {}).get("reward")


def test_kimis_timeouts_keep_their_reward_and_the_broken_verifier_has_none(kimi_jobs: list[RunJob]) -> None:
    found = Counter((job.facts.error_type, job.facts.reward, job.facts.reward_valid) for job in kimi_jobs if job.facts.error_type)
    assert found == {("AgentTimeoutError", 0.0, None): 4, ("VerifierTimeoutError", None, False): 1}


def test_tasks_have_their_names_before_there_is_a_result(shared_data: Path) -> None:
    for place in shared_data.glob("**/*__*/result.json"):
        config = json.loads((place.parent / "config.json").read_bytes())
        lock = place.parent / "lock.json"
        early = TrialFiles(place.parent.name, config, json.loads(lock.read_bytes()) if lock.exists() else {}, None)
        assert task_name(early) == json.loads(place.read_bytes())["task_name"]


def test_a_current_job_with_two_agents(shared_data: Path) -> None:
    found = {group.facts.agent: group for group in groups(shared_data / "generated" / "harbor" / "jobs" / "oracle-vs-nop")}
    assert {agent: group.facts.expected for agent, group in found.items()} == {"oracle": 12, "nop": 12}
    jobs = [job.facts for job in read_group(found["oracle"])[0]]
    assert Counter(word(job) for job in jobs) == {"passed": 3, "partial": 3, "failed": 3, "errored": 3}
    partial = [job for job in jobs if job.task_id == "partial-credit"]
    assert [job.rewards for job in partial] == [{"reward": 0.6, "lines": 3.0}] * 3
    timeouts = {(job.reward, job.reward_valid) for job in jobs if job.error_type == "AgentTimeoutError"}
    missing = {(job.reward, job.reward_valid) for job in jobs if job.error_type == "RewardFileNotFoundError"}
    assert timeouts == {(0.0, True)} and missing == {(None, False)}


def test_all_jobs_of_a_folder(shared_data: Path) -> None:
    found = groups(shared_data / "generated" / "harbor" / "jobs")
    assert len({group.group_id for group in found}) == 4
    everything = [job for group in found for job in read_group(group)[0]]
    assert len(everything) == 48 and all(job.facts.trial_key.count("/") == 1 for job in everything)


def test_tau_is_fifty_tasks_of_four_trials(shared_data: Path) -> None:
    path = shared_data / "tau-bench" / "historical_trajectories" / "gpt-4o-airline.json"
    source: list[dict[str, Any]] = json.loads(path.read_bytes())
    (group,) = groups(shared_data / "tau-bench")
    jobs, rejected = read_group(group)
    assert not rejected and group.facts.model == "gpt-4o"
    assert Counter(Counter(job.facts.task_id for job in jobs).values()) == {4: 50}
    assert Counter(word(job.facts) for job in jobs) == {"passed": 84, "failed": 116}
    for job, record in zip(jobs, source, strict=True):
        document = job.trajectory().document  # type: ignore[misc]
        results = sum(len(step.get("observation", {}).get("results", ())) for step in document["steps"])
        assert len(document["steps"]) + results == len(record["traj"]) == job.facts.meta["n_messages"]
        assert counts(document).n_tool_calls == sum(len(message.get("tool_calls") or ()) for message in record["traj"])
        assert json.loads(job.files[0].source) == record and job.facts.attempt_order == record["trial"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("folder", "jobs", "rejected"), [("harbor-atif-golden", 6, 10), ("harbor-atif2otel", 2, 0)])
def test_both_atif_folders(shared_data: Path, folder: str, jobs: int, rejected: int) -> None:
    found, refused = read(shared_data / folder)
    assert (len(found), len(refused)) == (jobs, rejected)
    assert {word(job.facts) for job in found} == {"ungraded"}
    for job in found:
        check_strict(job.trajectory().document)  # type: ignore[misc]


def test_the_golden_continuation_is_joined_once(shared_data: Path) -> None:
    jobs, _ = read(shared_data / "harbor-atif-golden")
    (job,) = [job for job in jobs if job.facts.task_id.endswith("linear-history")]
    document = job.trajectory().document  # type: ignore[misc]
    assert len(document["steps"]) == 5 + 4 and document["final_metrics"]["total_prompt_tokens"] == 7802
    assert not any(step.get("is_copied_context") for step in document["steps"])
    (summary,) = [job for job in jobs if job.facts.task_id.endswith("context-summarization")]
    assert len(summary.files) == 4
