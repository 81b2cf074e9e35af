"""The analysis on the server: the same verdicts as on the local run, made once, made again where that is due, and gone with their jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchloop_client import Client, analyze
from benchloop_client.samples.generator import write_samples
from tests.support.analysing import work_off
from tests.support.served import Served, serving

DATA = Path(__file__).parents[3] / "shared" / "data"
#: The fields of a job's verdict that both sides print.
FIELDS = (
    *("fail_reason", "sub_fail_reason", "tier", "fault_side", "says", "outcome", "reward_valid", "evidence", "reward_evidence", "secondary"),
    *("integrity", "first_signal_step", "wasted_steps", "wasted_seconds", "n_steps", "n_calls", "tests", "ruleset_version"),
)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Client, Path]]:
    """A server that holds the samples in group STEPS, all analysed, and where they were pushed from."""
    folder = tmp_path_factory.mktemp("analysis")
    write_samples(folder / "runs")
    with serving(folder / "data") as served, Client(served.url, served.key()) as client:
        for step in (100, 200):
            client.push(folder / "runs" / f"step-{step}", group="STEPS", step=step)
        work_off(served.services)
        yield served, client, folder / "runs"


def _plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def _assert_same(client: Client, path: Path, group_id: str, **options: Any) -> None:
    """Every verdict, and the numbers of the group, as the local analysis of the same run has them."""
    with analyze(path, processes=1, **options) as local:
        (group,) = local.groups
        jobs = {job["job_id"]: job for job in group.jobs()}
        report = group.report_dict()
    assert jobs
    for job_id, job in jobs.items():
        answer = client.job_report(job_id)
        assert answer["status"] == "succeeded"
        assert {name: answer["report"][name] for name in FIELDS} == {name: job[name] for name in FIELDS}, job_id
        assert {name: answer[name] for name in ("fail_reason", "evidence", "wasted_steps")} == {
            name: job[name] for name in ("fail_reason", "evidence", "wasted_steps")
        }
    served = client.group_report(group_id)
    assert served["status"] == "succeeded"
    assert served["headline"] == report["headline"]
    for name in ("rewards", "failed", "unknown", "pass_at_k", "by_task", "wasted_steps", "ruleset_versions"):
        assert served["report"][name] == report[name], name
    shares = [[(one["fail_reason"], one["share"], one["wasted_seconds"]) for one in said["reasons"]] for said in (served["report"], report)]
    assert shares[0] == shares[1]
    found = [[(one["name"], one["says"], one["jobs"]) for one in said["findings"]] for said in (served["report"], report)]
    assert found[0] == found[1]


def test_verdicts_are_those_of_the_local_analysis(tmp_path: Path) -> None:
    write_samples(tmp_path / "runs")
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        run = tmp_path / "runs" / "step-100"
        (group,) = client.push(run).groups
        work_off(served.services)
        _assert_same(client, run, group.group_id)


@pytest.mark.parametrize(("folder", "part"), [("harbor-kimi", ""), ("tau-bench", "historical_trajectories")])
def test_verdicts_on_real_runs_are_those_of_the_local_analysis(tmp_path: Path, folder: str, part: str) -> None:
    run = DATA / folder / part
    if not run.exists():
        pytest.skip(f"no shared data at {DATA}")
    if folder == "tau-bench":
        run = sorted(run.glob("*.json"))[0]
    with serving(tmp_path / "data") as served, Client(served.url, served.key()) as client:
        (group,) = client.push(run, secrets="allow").groups
        work_off(served.services)
        _assert_same(client, run, group.group_id)
