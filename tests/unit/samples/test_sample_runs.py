"""The sample runs: what they show, the same bytes each time, and large ones of the size asked for."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from benchloop_client.contract.outcome import outcome
from benchloop_client.contract.trajectory import check_strict, encode
from benchloop_client.formats.records import RunJob
from benchloop_client.formats.secrets import scan
from benchloop_client.samples import GROUP_STEPS, large_run, write_large, write_run, write_samples
from benchloop_client.samples.__main__ import main
from tests.unit.formats.harbor_dirs import groups, read, read_group


def _digest(folder: Path) -> str:
    names = sorted(place for place in folder.rglob("*") if place.is_file())
    return hashlib.sha256(b"".join(str(place.relative_to(folder)).encode() + place.read_bytes() for place in names)).hexdigest()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("samples")
    assert [run.step for run in write_samples(out)] == list(GROUP_STEPS) == [100, 200]
    return out


def _jobs(folder: Path) -> list[RunJob]:
    jobs, rejected = read(folder)
    assert not rejected
    return jobs


def test_each_kind_of_ending_is_there(runs: Path) -> None:
    facts = [job.facts for step in GROUP_STEPS for job in _jobs(runs / f"step-{step}")]
    words = Counter(
        outcome(status=one.status, reward=one.reward, reward_valid=one.reward_valid, error_type=one.error_type) for one in facts
    )
    assert set(words) == {"passed", "partial", "failed", "errored", None} and words["passed"] >= 15
    errors = {
        "AgentTimeoutError",
        "ApiOverloadedError",
        "ContextWindowExceededError",
        "RewardFileNotFoundError",
        "VerifierOutputParseError",
    }
    assert {one.error_type for one in facts} == {None, *errors}
    assert len({one.task_id for one in facts}) == 8 and any("checks_passed" in one.rewards for one in facts)
    assert any(one.error_type and one.reward is not None and one.reward_valid for one in facts)
    assert any(one.reward is not None and one.reward_valid is False for one in facts)


def test_the_later_step_is_better_and_still_running(runs: Path) -> None:
    early, late = (_jobs(runs / f"step-{step}") for step in GROUP_STEPS)
    assert sum(job.facts.reward == 1.0 for job in late) > sum(job.facts.reward == 1.0 for job in early)
    running = [job for job in late if job.facts.status == "running"]
    assert len(running) == 1 and running[0].trajectory is None and running[0].notes


def test_trajectories_are_valid_and_one_shows_an_image(runs: Path) -> None:
    jobs = [job for step in GROUP_STEPS for job in _jobs(runs / f"step-{step}")]
    for job in jobs:
        if job.trajectory is not None:
            check_strict(job.trajectory().document)
    media = [item for job in jobs for item in job.media]
    assert media and {item.mime_type for item in media} == {"image/png"} and media[0].source.read_bytes().startswith(b"\x89PNG")
    assert not [hit for job in jobs for hit in scan(job.files)]


def test_equal_seeds_give_equal_bytes(runs: Path, tmp_path: Path) -> None:
    write_samples(tmp_path / "same")
    write_samples(tmp_path / "other", seed=8)
    assert _digest(tmp_path / "same") == _digest(runs) != _digest(tmp_path / "other")
    assert _digest(write_run(tmp_path / "one", step=100)) == _digest(runs / "step-100")


@pytest.mark.parametrize("size", [3_000, 20_000, 200_000])
def test_large_runs_have_the_size_asked_for(size: int) -> None:
    (group,) = large_run(12, size).groups
    jobs, _ = read_group(group)
    sizes = [len(encode(job.trajectory().document)) for job in jobs if job.trajectory]
    assert len(jobs) == 12 and all(0.7 * size < one < 1.3 * size for one in sizes)
    assert len({encode(job.trajectory().document) for job in jobs if job.trajectory}) == 12


def test_a_large_run_on_disk_is_the_same_run(tmp_path: Path) -> None:
    (group,) = groups(write_large(tmp_path / "large", 9, 4_000))
    (held,) = large_run(9, 4_000).groups
    on_disk, _ = read_group(group)
    in_memory, _ = read_group(held)
    assert [job.facts.trial_key for job in on_disk] == [job.facts.trial_key for job in in_memory]
    assert [job.trajectory().document for job in on_disk if job.trajectory] == [
        job.trajectory().document for job in in_memory if job.trajectory
    ]
    assert group.facts.expected == 9 and len({job.facts.task_id for job in on_disk}) == 3


def test_the_command_line(tmp_path: Path) -> None:
    main([str(tmp_path / "runs")])
    main([str(tmp_path / "large"), "--jobs", "3", "--bytes", "3000"])
    assert sorted(place.name for place in (tmp_path / "runs").iterdir()) == ["step-100", "step-200"]
    assert len(_jobs(tmp_path / "large")) == 3
