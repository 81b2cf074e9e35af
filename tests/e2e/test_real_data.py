"""Runs of real agents, pushed and pulled: all that was in the source is in what comes back, counted here without the readers."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract import trajectory
from tests.support.programs import Bl, serving

_WITH = "metrics,trajectory,artifacts,tasks,jobs"


@dataclass(frozen=True)
class Pulled:
    """A run after push and pull: what the two pushes said, and the files of its groups."""

    source: Path
    bl: Bl
    first: list[dict[str, Any]]
    second: list[dict[str, Any]]
    out: Path

    @property
    def groups(self) -> list[str]:
        """The ids of its groups."""
        return [row["group_id"] for row in self.first]

    def file(self, group: str, name: str) -> Any:
        """A JSON file of a group."""
        return json.loads((self.out / group / name).read_text("utf-8"))

    def jobs(self, group: str) -> list[dict[str, Any]]:
        """The rows of the job list."""
        return list(self.file(group, "job_list.json")["jobs"])

    def all_jobs(self) -> list[dict[str, Any]]:
        """The rows of all groups."""
        return [row for group in self.groups for row in self.jobs(group)]

    def documents(self, group: str) -> dict[str, dict[str, Any]]:
        """The group's trajectories by job."""
        return {found["trajectory_id"]: found for found in self.file(group, "trajectory.json")["trajectories"]}

    def archive(self, group: str, job: str) -> dict[str, bytes]:
        """The files of a job's archive."""
        return members((self.out / group / job / f"{job}.tgz").read_bytes())


def members(archive: bytes) -> dict[str, bytes]:
    """The files of a `.tgz` by name."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        return {item.name: opened.extractfile(item).read() for item in opened if item.isfile()}  # type: ignore[union-attr]


def pulled(source: Path, root: Path, *, code: int = 0) -> Iterator[Pulled]:
    """Push twice, each time ending with `code`, and pull once, on a server of its own."""
    with serving(root / "data") as server:
        bl = server.bl(root / "home")
        pushes = [bl("push", str(source), "--allow-secrets", timeout=180) for _ in range(2)]
        assert [push.code for push in pushes] == [code, code], "\n".join(str(push) for push in pushes)
        groups = [option for row in pushes[0].json for option in ("-g", row["group_id"])]
        result = bl("pull", *groups, "--with", _WITH, "-o", str(root / "out"), timeout=180)
        assert result.code == 0, str(result)
        yield Pulled(source, bl, pushes[0].json, pushes[1].json, root / "out")


@pytest.fixture(scope="module")
def kimi(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulled]:
    """62 of 89 trials of a Terminal-Bench run."""
    yield from pulled(shared_data / "harbor-kimi" / "kimi_k2.5", tmp_path_factory.mktemp("kimi"))


@pytest.fixture(scope="module")
def tau(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulled]:
    """50 airline tasks, four attempts each."""
    yield from pulled(shared_data / "tau-bench", tmp_path_factory.mktemp("tau"))


@pytest.fixture(scope="module")
def oracle(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pulled]:
    """One Harbor job with two agents: an oracle and one that does nothing."""
    yield from pulled(shared_data / "generated" / "harbor" / "jobs" / "oracle-vs-nop", tmp_path_factory.mktemp("oracle"))


def _says_nothing_new(run: Pulled) -> None:
    for before, after in zip(run.first, run.second, strict=True):
        assert before["new"] == before["present"] == after["unchanged"]
        assert (after["new"], after["updated"]) == (0, 0)
        assert after["rejected"] == before["rejected"]


# ---- harbor-kimi --------------------------------------------------------------------------------------------------------------------


def _sources(run: Pulled) -> dict[str, dict[str, Any]]:
    """The source's trajectories by trial name, as the files say."""
    return {path.parents[1].name: json.loads(path.read_bytes()) for path in run.source.glob("*/agent/trajectory.json")}


def _trials(run: Pulled) -> dict[str, str]:
    """Job id by trial name, learnt from the result file in each job's archive."""
    group = run.groups[0]
    return {json.loads(run.archive(group, row["job_id"])["result.json"])["trial_name"]: row["job_id"] for row in run.jobs(group)}


def _calls(steps: list[dict[str, Any]]) -> Counter[str]:
    return Counter(call["function_name"] for step in steps for call in step.get("tool_calls") or ())


def _tokens(steps: list[dict[str, Any]]) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {name: sum((step.get("metrics") or {}).get(name) or 0 for step in steps) for name in names}


def test_kimi_is_one_group_of_62_expected_89(kimi: Pulled) -> None:
    """The job's own result still says 89; 62 are there."""
    assert [(row["expected"], row["present"], row["new"], row["rejected"]) for row in kimi.first] == [(89, 62, 62, [])]
    assert len(kimi.jobs(kimi.groups[0])) == 62


def test_kimi_second_push_adds_nothing(kimi: Pulled) -> None:
    """And says so."""
    _says_nothing_new(kimi)


def test_kimi_documents_equal_their_source(kimi: Pulled) -> None:
    """Every downloaded document is the normalised source, stamped with its job."""
    group = kimi.groups[0]
    found, trials, rows = kimi.documents(group), _trials(kimi), {row["job_id"]: row for row in kimi.jobs(group)}
    sources = _sources(kimi)
    recorded = {trials[name] for name in sources}
    assert set(found) == set(rows)
    assert all(found[job]["steps"] == [] for job in set(rows) - recorded), "a job without a trajectory has a document without steps"
    for name, source in sources.items():
        job = trials[name]
        normal = trajectory.normalise(source).document
        assert found[job] == trajectory.stamp(normal, job_id=job, group_id=group, task_id=rows[job]["task_id"])


def test_kimi_counts_equal_their_source(kimi: Pulled) -> None:
    """Steps, tool calls by name, texts and token sums, counted in the raw files."""
    found, trials = kimi.documents(kimi.groups[0]), _trials(kimi)
    for name, source in _sources(kimi).items():
        steps, expected = found[trials[name]]["steps"], source["steps"]
        assert len(steps) == len(expected)
        assert [step["source"] for step in steps] == [step["source"] for step in expected]
        assert [step["message"] for step in steps] == [step["message"] for step in expected]
        assert _calls(steps) == _calls(expected)
        assert _tokens(steps) == _tokens(expected)


def test_kimi_rows_tell_counts_of_the_documents(kimi: Pulled) -> None:
    """The job list counts what the documents hold; a job without a trajectory has null, not 0."""
    found = kimi.documents(kimi.groups[0])
    for row in kimi.jobs(kimi.groups[0]):
        steps = found[row["job_id"]]["steps"] or None
        assert row["n_steps"] == (None if steps is None else len(steps))
        assert row["n_tool_calls"] == (None if steps is None else sum(_calls(steps).values()))


def test_kimi_results_equal_their_source(kimi: Pulled) -> None:
    """Reward and error of every job, as its result file says."""
    rows = {row["job_id"]: row for row in kimi.jobs(kimi.groups[0])}
    for name, job in _trials(kimi).items():
        result = json.loads((kimi.source / name / "result.json").read_bytes())
        rewards = (result.get("verifier_result") or {}).get("rewards") or {}
        assert rows[job]["reward"] == rewards.get("reward")
        assert rows[job]["error_type"] == (result.get("exception_info") or {}).get("exception_type")
        assert rows[job]["task_id"] == result["task_name"]


def test_kimi_files_equal_their_source(kimi: Pulled) -> None:
    """Every file of every archive is the trial's file byte for byte, and no file of a trial is missing."""
    group = kimi.groups[0]
    for name, job in _trials(kimi).items():
        folder = kimi.source / name
        expected = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert kimi.archive(group, job) == expected, name


def test_kimi_single_documents_equal_the_groups(kimi: Pulled, tmp_path: Path) -> None:
    """Job by job and as a group come the same documents."""
    found = kimi.documents(kimi.groups[0])
    some = sorted(found)[:5]
    result = kimi.bl("trajectory", "download", "-j", ",".join(some), "-o", str(tmp_path))
    assert result.code == 0, str(result)
    assert {job: json.loads((tmp_path / f"{job}_trajectory.json").read_bytes()) for job in some} == {job: found[job] for job in some}


# ---- tau-bench ----------------------------------------------------------------------------------------------------------------------


def _records(run: Pulled) -> dict[tuple[str, int], dict[str, Any]]:
    (path,) = run.source.rglob("*.json")
    return {(str(row["task_id"]), row["trial"]): row for row in json.loads(path.read_bytes())}


def test_tau_is_50_tasks_of_four(tau: Pulled) -> None:
    """One group; 84 passed and 116 failed."""
    assert len(tau.groups) == 1
    rows = tau.all_jobs()
    assert Counter(Counter(row["task_id"] for row in rows).values()) == {4: 50}
    assert {task: sorted(row["attempt"] for row in rows if row["task_id"] == task) for task in {row["task_id"] for row in rows}} == {
        row["task_id"]: [1, 2, 3, 4] for row in rows
    }
    assert Counter(row["outcome"] for row in rows) == {"passed": 84, "failed": 116}


def test_tau_second_push_adds_nothing(tau: Pulled) -> None:
    """And says so."""
    _says_nothing_new(tau)


def test_tau_messages_and_calls_are_kept(tau: Pulled) -> None:
    """Each message is a step or a result within one, each call a call, in every one of the 200 trials."""
    group = tau.groups[0]
    found, records = tau.documents(group), _records(tau)
    for job, document in found.items():
        (name,) = tau.archive(group, job)
        own = json.loads(tau.archive(group, job)[name])
        messages = records[str(own["task_id"]), own["trial"]]["traj"]
        steps = document["steps"]
        results = [result for step in steps for result in (step.get("observation") or {}).get("results") or ()]
        assert Counter(message["role"] for message in messages) == _roles(steps, len(results))
        assert sum(_calls(steps).values()) == sum(len(message.get("tool_calls") or ()) for message in messages)
        assert [result["content"] for result in results] == [message["content"] for message in messages if message["role"] == "tool"]
    assert len(found) == 200


def _roles(steps: list[dict[str, Any]], results: int) -> Counter[str]:
    named = Counter({"agent": "assistant"}.get(step["source"], step["source"]) for step in steps)
    return named + Counter({"tool": results})


def test_tau_records_are_kept(tau: Pulled) -> None:
    """The archive holds each source record as it was."""
    kept = [
        json.loads(body)
        for row in tau.all_jobs()
        for name, body in tau.archive(tau.groups[0], row["job_id"]).items()
        if name == "trial.json"
    ]
    assert {(str(row["task_id"]), row["trial"]): row for row in kept} == _records(tau)


# ---- generated Harbor job with two agents -------------------------------------------------------------------------------------------


def _facts(run: Pulled) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Row and source result by trial name."""
    found = {}
    for group in run.groups:
        for row in run.jobs(group):
            result = json.loads(run.archive(group, row["job_id"])["result.json"])
            found[result["trial_name"]] = (row, result)
    return found


def test_oracle_is_two_groups(oracle: Pulled) -> None:
    """One group an agent, 12 jobs each, all 24 planned ones present."""
    assert len(oracle.groups) == 2
    assert [row["present"] for row in oracle.first] == [12, 12]
    assert [row["expected"] for row in oracle.first] == [12, 12]
    assert sorted({row["agent"] for row in oracle.jobs(group)} for group in oracle.groups) in ([{"nop"}, {"oracle"}], [{"oracle"}, {"nop"}])


def test_oracle_second_push_adds_nothing(oracle: Pulled) -> None:
    """And says so."""
    _says_nothing_new(oracle)


def test_oracle_keeps_partial_credit_and_every_reward(oracle: Pulled) -> None:
    """All reward keys of all trials, the partial ones included."""
    for row, result in _facts(oracle).values():
        assert row["rewards"] == ((result.get("verifier_result") or {}).get("rewards") or {})
    rows = [row for row, _ in _facts(oracle).values()]
    assert any(0 < row["reward"] < 1 and row["outcome"] == "partial" for row in rows if row["reward"] is not None)
    assert any(len(row["rewards"]) == 2 for row in rows)


def test_oracle_keeps_timeout_apart_from_missing_reward(oracle: Pulled) -> None:
    """An agent's timeout with a valid reward stays graded; a trial without reward is errored with reward null."""
    facts = _facts(oracle).values()
    timeouts = [row for row, result in facts if (result.get("exception_info") or {}).get("exception_type") == "AgentTimeoutError"]
    assert timeouts
    for row in timeouts:
        assert row["error_type"] == "AgentTimeoutError"
        assert row["reward"] is not None
        assert row["outcome"] in ("passed", "partial", "failed")
    missing = [row for row, result in facts if not (result.get("verifier_result") or {}).get("rewards")]
    assert missing
    assert {(row["reward"], row["outcome"]) for row in missing} == {(None, "errored")}


# ---- bare ATIF documents ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["harbor-atif2otel", "harbor-atif-golden"])
def test_atif_folder_loads(shared_data: Path, tmp_path: Path, folder: str) -> None:
    """Each document becomes an ungraded job with all its steps; exports are refused by name; a second push adds nothing."""
    sources = {path: json.loads(path.read_bytes()) for path in (shared_data / folder).rglob("*.json")}
    wanted = [document for path, document in sources.items() if isinstance(document, dict) and "steps" in document]
    others = sorted(path.name for path, document in sources.items() if document not in wanted)
    run = next(generator := pulled(shared_data / folder, tmp_path, code=1 if others else 0))
    rejected = {Path(item["source"]).name: item["reason"] for row in run.first for item in row["rejected"]}
    assert sorted(rejected) == others
    assert all("exported" in reason for name, reason in rejected.items() if name.endswith(".traces.json"))
    rows = run.all_jobs()
    assert {row["outcome"] for row in rows} == {"ungraded"}
    steps = [len(found["steps"]) for group in run.groups for found in run.documents(group).values()]
    assert len(rows) <= len(wanted)
    # A continuation is joined to what it continues, without the steps it copies; files of a summary are artifacts.
    own = [document for path, document in sources.items() if document in wanted and ".summarization-" not in path.name]
    assert sum(steps) == sum(not step.get("is_copied_context") for document in own for step in document["steps"])
    _says_nothing_new(run)
    assert next(generator, None) is None


def test_archive_members_are_served_one_by_one(kimi: Pulled, tmp_path: Path) -> None:
    """`--member` fetches single files of a job's archive."""
    group = kimi.groups[0]
    job = kimi.jobs(group)[0]["job_id"]
    result = kimi.bl("artifacts", "download", "-j", job, "--member", "result.json", "-o", str(tmp_path))
    assert result.code == 0, str(result)
    found = [path.read_bytes() for path in tmp_path.rglob("result.json")]
    assert found == [kimi.archive(group, job)["result.json"]]


def test_push_is_refused_where_keys_are_found(shared_data: Path, tmp_path: Path) -> None:
    """A key in a run's file stops the push with file and line, before anything is sent; `--redact` takes it out."""
    run = tmp_path / "run"
    source = shared_data / "harbor-atif2otel" / "tests" / "fixtures" / "trajectory_pass.json"
    document = json.loads(source.read_bytes())
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    document["steps"][0]["message"] = f"use {secret} please"
    run.mkdir()
    (run / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
    with serving(tmp_path / "data") as server:
        bl = server.bl(tmp_path / "home")
        refused = bl("push", str(run), "--group", "SECRET")
        assert refused.code == 1, str(refused)
        assert "trajectory.json" in refused.err
        assert secret not in refused.err + refused.out
        assert bl("groups", "get", "-g", "SECRET").code == 1
        taken = bl("push", str(run), "--group", "SECRET", "--redact")
        assert taken.code == 0, str(taken)
        assert secret not in bl("trajectory", "get", "-g", "SECRET").out
