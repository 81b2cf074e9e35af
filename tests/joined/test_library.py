"""The library against a real server: each call returns what the server holds, files are the command's files, mistakes are our errors."""

from __future__ import annotations

import json
import tarfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchloop_client import ApiError, AuthError, Cancelled, Client, NetworkError, NotFound, NotReady, Settings, Side, UsageError
from benchloop_client.actions.events import Event, Wrote
from benchloop_client.contract.version import FEATURES
from benchloop_client.samples.generator import write_samples
from tests.support import pushing
from tests.support.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that holds both samples as steps 100 and 200 of group G."""
    folder = tmp_path_factory.mktemp("library")
    write_samples(folder / "runs")
    with serving(folder / "data") as running, Client(running.url, running.key()) as client:
        pushed = [client.push(folder / "runs" / f"step-{step}", group="G", step=step) for step in (100, 200)]
        assert [each.groups[0].new for each in pushed] == [22, 22]
        assert client.push(folder / "runs" / "step-200", group="G", step=200).groups[0].unchanged == 22
        yield running


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    """A client of that server."""
    with Client(served.url, served.key()) as opened:
        yield opened


def test_groups_and_statistics(client: Client) -> None:
    assert [group["group_id"] for group in client.groups()] == ["G"]
    assert client.group("G")["steps"] == [100, 200]
    assert client.overview("G", scope="summary")["summary"]["present"] == 44
    job = next(client.jobs("G"))
    assert client.job_overview(job["job_id"])["stats"]["group_id"] == "G"
    assert client.group_metrics("G")["run_metrics"]["job_count"] == 44


def test_jobs_are_filtered_and_each_is_the_one_asked_for(client: Client) -> None:
    jobs = list(client.jobs("G"))
    assert len(jobs) == 44
    assert list(client.jobs("G", step=200)) == [job for job in jobs if job["step"] == 200]
    wanted = [job["job_id"] for job in jobs if job["outcome"] in {"failed", "partial"}]
    assert [job["job_id"] for job in client.jobs("G", outcome=("failed", "partial"))] == wanted
    assert client.job(jobs[3]["job_id"]) == jobs[3]
    assert client.metadata(jobs[3]["job_id"])["task_id"] == jobs[3]["task_id"]


def test_tasks_and_metrics(client: Client) -> None:
    tasks = list(client.tasks("G"))
    assert len(tasks) == 8
    assert [task["task_id"] for task in client.tasks("G", search="slug")] == ["slugify"]
    metrics = list(client.metrics("G"))
    assert len(metrics) == 44
    assert client.job_metrics(metrics[0]["job_id"])["run_metrics"] == metrics[0]["run_metrics"]


def test_trajectories_come_in_the_order_of_the_jobs_and_are_the_jobs_own(client: Client) -> None:
    ids = [job["job_id"] for job in client.jobs("G")]
    documents = list(client.trajectories("G"))
    assert [document["trajectory_id"] for document in documents] == ids
    assert client.trajectory(ids[5]) == documents[5]
    chosen = [job["job_id"] for job in client.jobs("G", step=100)]
    assert [document["trajectory_id"] for document in client.trajectories("G", step=100)] == chosen


def test_a_stream_can_be_left_and_the_client_goes_on(client: Client) -> None:
    for _ in range(20):
        assert len(list(islice(client.trajectories("G"), 2))) == 2
        assert len(list(islice(client.trajectories("G", step=100), 2))) == 2
    assert client.group("G")["present"] == 44


def test_artifacts_are_listed_and_read_one_file_at_a_time(client: Client) -> None:
    rows = list(client.group_artifacts("G"))
    assert len(rows) == 44
    job_id = rows[0]["job_id"]
    (listed,) = client.artifacts(job_id)
    assert listed["sha256"] == rows[0]["sha256"]
    files = client.artifact_files(job_id)
    result = json.loads(client.artifact_file(job_id, "result.json"))
    assert "result.json" in [file["path"] for file in files]
    assert result["trial_name"]
    with pytest.raises(NotFound):
        client.artifact_file(job_id, "no/such/file")


def test_download_tasks(client: Client) -> None:
    task = client.create_download_task("G", step=100, outcome=["passed"])
    assert task["total"] == len(list(client.jobs("G", step=100, outcome="passed")))
    assert client.download_task(task["task_id"])["job_ids"] == task["job_ids"]


def test_diff(client: Client) -> None:
    found = client.diff("G@100", Side("G", 200))
    assert (found.counts["won"], found.counts["lost"], found.better) == (4, 0, ("reward",))


def test_pull_writes_the_documented_files_and_tells_the_watcher(served: Served, tmp_path: Path) -> None:
    seen: list[Event] = []
    with Client(served.url, served.key(), watch=seen.append) as client:
        report = client.pull(groups=["G"], resources=("metrics", "trajectory", "tasks", "jobs", "artifacts"), into=tmp_path)
    assert report.ok
    names = {path.name for path in (tmp_path / "G").iterdir() if path.is_file()}
    assert names == {"overall_metrics.json", "detail_metrics.json", "trajectory.json", "task_list.json", "job_list.json"}
    assert len(list((tmp_path / "G").glob("*/*.tgz"))) == 44
    assert tmp_path / "G" / "trajectory.json" in [event.path for event in seen if isinstance(event, Wrote)]


def test_each_download_writes_its_files(client: Client, tmp_path: Path) -> None:
    jobs = [job["job_id"] for job in islice(client.jobs("G"), 2)]
    task = client.create_download_task("G", step=100)["task_id"]
    reports = [
        client.pull(jobs=jobs, into=tmp_path),
        client.download_trajectories(jobs=jobs[0], into=tmp_path),
        client.download_trajectories(groups="G", into=tmp_path),
        client.download_trajectories(task=task, into=tmp_path),
        client.download_metadata(task, into=tmp_path),
        client.download_metrics(groups="G", scope="overall", into=tmp_path),
        client.download_metrics(jobs=jobs, into=tmp_path),
        client.download_jobs("G", step=100, into=tmp_path),
        client.download_tasks("G", into=tmp_path),
        client.download_artifacts(jobs=jobs, into=tmp_path),
        client.download_artifacts(jobs=jobs, member="verifier/*", into=tmp_path / "single"),
        client.download_artifacts(task=task, into=tmp_path),
    ]
    assert all(report.ok and report.done for report in reports)
    assert len(json.loads((tmp_path / "G/job_list.json").read_text())["jobs"]) == 22
    with tarfile.open(tmp_path / jobs[0] / f"{jobs[0]}.tgz") as archive:
        assert "result.json" in archive.getnames()
    assert [path.name for path in (tmp_path / "single").rglob("*.txt")]
    assert (tmp_path / f"{task}_trajectories.zip").is_file()


def test_a_dry_run_plans_what_the_real_run_does_and_writes_nothing(client: Client, tmp_path: Path) -> None:
    wanted = {"resources": ("metrics", "trajectory", "tasks", "jobs", "artifacts", "metadata"), "into": tmp_path}
    plan = client.dry_run().pull(groups="G", **wanted)
    assert plan.ok and not list(tmp_path.iterdir())
    assert {file.action for file in plan.planned} == {"fetch"}
    assert all(file.size for file in plan.planned if file.what == "artifact")
    done = client.pull(groups="G", **wanted)
    assert done.planned == ()
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file() and ".benchloop" not in path.parts}
    assert {file.path for file in plan.planned} == written
    again = client.dry_run().pull(groups="G", **wanted, skip_existing=True)
    assert {file.action for file in again.planned} == {"keep"}


def test_a_dry_run_has_downloads_and_keeps_the_selection(client: Client, tmp_path: Path) -> None:
    plan = client.select(sample=3).dry_run().download_artifacts(groups="G", into=tmp_path)
    assert len(plan.planned) == 3
    task = client.create_download_task("G", step=100)["task_id"]
    dry = client.dry_run()
    reports = [
        dry.download_trajectories(task=task, into=tmp_path),
        dry.download_metadata(task, into=tmp_path),
        dry.download_metrics(groups="G", into=tmp_path),
        dry.download_jobs("G", into=tmp_path),
        dry.download_tasks("G", into=tmp_path),
        dry.download_reports(groups="G", into=tmp_path),
    ]
    assert all(report.ok for report in reports)
    assert not list(tmp_path.iterdir())
    assert not hasattr(dry, "push") and not hasattr(dry, "delete_group")


def test_a_selection_narrows_downloads_of_groups_and_leaves_the_client_as_it_is(client: Client, tmp_path: Path) -> None:
    failed = [job["job_id"] for job in client.jobs("G", outcome=["failed"])]
    chosen = client.select(outcome="failed")
    assert chosen.download_artifacts(groups="G", into=tmp_path / "failed").ok
    assert {path.name for path in (tmp_path / "failed" / "G").iterdir()} == set(failed)
    assert client.select(steps=100, sample=3).download_artifacts(groups="G", into=tmp_path / "three").ok
    assert len(list((tmp_path / "three" / "G").iterdir())) == 3
    assert client.download_artifacts(groups="G", into=tmp_path / "all").ok
    assert len(list((tmp_path / "all" / "G").iterdir())) == 44
    with pytest.raises(UsageError, match="cannot be selected by colour"):
        client.select(colour="red")


def test_a_second_download_keeps_what_is_there(client: Client, tmp_path: Path) -> None:
    client.download_jobs("G", into=tmp_path)
    before = (tmp_path / "G/job_list.json").stat().st_mtime_ns
    assert client.download_jobs("G", into=tmp_path, skip_existing=True).ok
    assert (tmp_path / "G/job_list.json").stat().st_mtime_ns == before


def test_one_item_that_fails_is_in_the_report_and_stops_no_other(client: Client, tmp_path: Path) -> None:
    job = next(client.jobs("G"))["job_id"]
    report = client.download_metrics(jobs=["gone", job], into=tmp_path)
    assert (report.done, [failure.label for failure in report.failures]) == (1, ["gone"])
    assert isinstance(report.failures[0].error, NotFound)


def test_reports_and_behaviour(client: Client) -> None:
    job = next(client.jobs("G"))["job_id"]
    for found in (client.job_report(job), client.group_report("G"), client.job_rsi(job), client.group_rsi("G")):
        assert found["status"]
    for asked in (
        client.trigger_job_report(job),
        client.trigger_group_report("G", include_passed=True),
        client.trigger_job_rsi(job),
        client.trigger_group_rsi("G"),
    ):
        assert asked["status"]
    assert client.behavior_steps("G")["steps"] == [100, 200]
    task = client.create_behavior_task("G", steps=[200], sample_size=10)
    assert client.behavior_task(task["uid"])["group_id"] == "G"
    assert task["uid"] in [each["uid"] for each in client.behavior_tasks("G")]
    assert client.behavior_analysis(task["uid"])["uid"] == task["uid"]
    with pytest.raises(UsageError, match="has no step 7"):
        client.create_behavior_task("G", steps=[7])
    with pytest.raises(NotFound):
        client.trigger_job_report("gone")


def test_waiting_for_a_server_that_does_not_analyse_ends(client: Client) -> None:
    job = next(client.jobs("G"))["job_id"]
    with pytest.raises(NotReady):
        client.trigger_job_report(job, wait=1)
    with pytest.raises(NotReady):
        client.create_behavior_task("G", steps=[100], wait=60)


def test_what_has_no_report_gets_no_file(client: Client, tmp_path: Path) -> None:
    for report in (
        client.download_reports(groups="G", into=tmp_path),
        client.download_reports(groups=["G"], weaknesses=True, into=tmp_path),
    ):
        assert report.ok
    assert list(tmp_path.glob("**/*.md")) == []


def test_groups_are_edited_and_deleted(client: Client, served: Served) -> None:
    pushing.push(served, pushing.Sent("edited-1", group_id="E", document=pushing.document("edited-1", "E")))
    assert client.edit_group("E", name="new name", tags=["a"])["tags"] == ["a"]
    assert client.group("E")["name"] == "new name"
    assert client.delete_group("E")["jobs"] == 1
    with pytest.raises(NotFound):
        client.group("E")


def test_who_and_what_answers(client: Client) -> None:
    assert client.whoami()["workspace"] == "default"
    version = client.server_version()
    assert version is not None
    assert set(version.features) >= set(FEATURES) - {"filters"}
    assert repr(client) == f"Client(host='{client.settings.host}')"


def test_the_doctor_finds_server_and_key_well(client: Client) -> None:
    found = {finding.check: finding.status for finding in client.doctor()}
    assert {found["key"], found["server"]} == {"ok"}
    with Client(client.settings.host, "blk_wrong") as stranger:
        assert "fail" in {finding.status for finding in stranger.doctor() if finding.check == "key"}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.job("nope"),
        lambda c: list(c.jobs("nope")),
        lambda c: list(c.tasks("nope")),
        lambda c: list(c.metrics("nope")),
        lambda c: list(c.trajectories("nope")),
        lambda c: list(c.trajectories("nope", step=1)),
        lambda c: list(c.group_artifacts("nope")),
    ],
)
def test_what_is_not_there_is_not_found(client: Client, call: Callable[[Client], Any]) -> None:
    with pytest.raises(NotFound):
        call(client)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.jobs("G", colour="red"), "cannot be filtered by colour"),
        (lambda c: c.pull(), "exactly one of groups, jobs"),
        (lambda c: c.pull(groups="G", jobs="J"), "exactly one of groups, jobs"),
        (lambda c: c.pull(groups=[]), "exactly one of groups, jobs"),
        (lambda c: c.pull(groups="G", resources="all"), "no resources all"),
        (lambda c: c.download_trajectories(groups="G", task="T"), "exactly one of"),
        (lambda c: c.diff("G", "G", significance=3), "between 0 and 1"),
    ],
)
def test_a_call_that_cannot_work_says_so_at_once(client: Client, call: Callable[[Client], Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call(client)


def test_a_wrong_key_and_nobody_there_are_errors_of_their_own(served: Served) -> None:
    with Client(served.url, "blk_wrong") as client, pytest.raises(AuthError):
        client.group("G")
    settings = Settings(host="http://127.0.0.1:1", retry=0, timeout=2.0)
    with Client(settings=settings) as client, pytest.raises(NetworkError):
        client.group("G")


def test_a_client_that_is_cancelled_stops(client: Client) -> None:
    walk = client.trajectories("G", step=100)
    next(walk)
    threading.Timer(0.1, client.cancel.set).start()
    with pytest.raises(Cancelled):
        for _ in range(1000):
            list(client.trajectories("G", step=100))


def test_streaming_a_large_group_holds_a_few_documents_only(served: Served, client: Client) -> None:
    text = "x" * 500_000
    jobs = [pushing.Sent(f"big-{n:02}", group_id="BIG", document=pushing.document(f"big-{n:02}", "BIG", text=text)) for n in range(24)]
    for job in jobs:
        pushing.push(served, job)
    list(islice(client.trajectories("G"), 1))
    tracemalloc.start()
    try:
        count = sum(1 for document in client.trajectories("BIG") if len(document["steps"]) == 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 24
    # One document is 1.5 MB; all of them, read at once, would be 36 MB. The server runs in this process too.
    assert peak < 24_000_000


def test_a_document_on_its_way_is_an_error_when_the_client_is_closed(served: Served) -> None:
    client = Client(served.url, served.key())
    client.close()
    with pytest.raises((NetworkError, ApiError)):
        client.group("G")
