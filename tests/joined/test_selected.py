"""Downloads of a selection, and rehearsals of downloads, against a real server."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.cli.app import run
from benchloop_client.cli.env import Env
from benchloop_client.client import Client
from benchloop_client.library.client import Client as Library
from benchloop_client.samples.generator import write_samples
from benchloop_client.settings import load
from tests.support.served import Served, serving


@dataclass
class Ran:
    """What a command line left behind."""

    code: int
    out: bytes
    err: str


@dataclass
class Bl:
    """`bl` in this process, its host the server, its output in `out`."""

    served: Served
    out: Path

    def __call__(self, *argv: str) -> Ran:
        out, err = io.BytesIO(), io.StringIO()
        environ = {"BENCHLOOP_API_KEY": self.served.key(), "BENCHLOOP_HOST": self.served.url, "BENCHLOOP_OUTPUT_DIR": str(self.out)}
        code = run(list(argv), Env(None, out, err, lambda: 0.0, lambda flags: load(flags, environ), Client))
        return Ran(code, out.getvalue(), err.getvalue())

    def rows(self) -> list[dict[str, Any]]:
        """The job list."""
        found: list[dict[str, Any]] = json.loads(self("jobs", "get", "-g", "G", "--all").out)[0]["jobs"]
        return found

    def documents(self) -> list[str]:
        """Whose trajectories the group's file holds."""
        return [each["trajectory_id"] for each in json.loads((self.out / "G" / "trajectory.json").read_text("utf-8"))["trajectories"]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that holds both samples as steps 100 and 200 of group G."""
    folder = tmp_path_factory.mktemp("selected")
    write_samples(folder / "runs")
    with serving(folder / "data") as running, Library(running.url, running.key()) as client:
        for step in (100, 200):
            client.push(folder / "runs" / f"step-{step}", group="G", step=step)
        yield running


@pytest.fixture
def bl(served: Served, tmp_path: Path) -> Bl:
    return Bl(served, tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "keep"),
    [
        (("--outcome", "failed"), lambda row: row["outcome"] == "failed"),
        (("--outcome", "failed,partial"), lambda row: row["outcome"] in {"failed", "partial"}),
        (("--status", "errored"), lambda row: row["outcome"] == "errored"),
        (("--status", "completed"), lambda row: row["status"] == "completed"),
        (("--step", "200"), lambda row: row["step"] == 200),
        (("--task", "slugify"), lambda row: row["task_id"] == "slugify"),
        (
            ("--task", "slugify", "--task", "csv-dedupe", "--step", "100"),
            lambda row: row["task_id"] in {"slugify", "csv-dedupe"} and row["step"] == 100,
        ),
        (("--fail-reason", "timeout"), lambda row: row["fail_reason"] == "timeout"),
    ],
)
def test_a_group_download_holds_the_selected_documents_only(bl: Bl, options: tuple[str, ...], keep: Any) -> None:
    rows = bl.rows()
    wanted = [row["job_id"] for row in rows if keep(row)]
    ran = bl("trajectory", "download", "-g", "G", *options)
    assert ran.code == 0, ran.err
    assert bl.documents() == wanted
    assert f"{len(wanted)} of {len(rows)} job(s) of G selected" in ran.err


def test_a_selection_is_another_file_than_the_whole(bl: Bl) -> None:
    for options, count in (((), 44), (("--sample", "5"), 5), ((), 44), (("--sample", "5", "--seed", "x"), 5)):
        ran = bl("trajectory", "download", "-g", "G", "--skip-existing", *options)
        assert (ran.code, len(bl.documents())) == (0, count)
        assert "wrote " in ran.err
        again = bl("trajectory", "download", "-g", "G", "--skip-existing", *options)
        assert "skip existing" in again.err


def test_artifacts_of_a_sample_are_fetched_once_and_shared_with_the_whole(bl: Bl) -> None:
    assert bl("artifacts", "download", "-g", "G", "--sample", "3").code == 0
    assert len(list(bl.out.glob("G/*/*.tgz"))) == 3
    ran = bl("artifacts", "download", "-g", "G", "--skip-existing")
    assert ran.err.count("skip existing") == 3
    assert len(list(bl.out.glob("G/*/*.tgz"))) == 44


def test_pull_narrows_what_belongs_to_jobs_and_says_what_it_does_not(bl: Bl) -> None:
    ran = bl("pull", "-g", "G", "--with", "metrics,trajectory,artifacts,jobs", "--outcome", "passed", "--step", "100")
    wanted = {row["job_id"] for row in bl.rows() if row["outcome"] == "passed" and row["step"] == 100}
    assert ran.code == 0, ran.err
    assert set(bl.documents()) == wanted == {path.name for path in (bl.out / "G").iterdir() if path.is_dir()}
    assert "jobs, metrics: of the whole group, whatever jobs are selected" in ran.err
    assert len(json.loads((bl.out / "G" / "job_list.json").read_text())["jobs"]) == 44


def test_a_download_task_can_be_narrowed_too(bl: Bl) -> None:
    task = json.loads(bl("download-tasks", "create", "-g", "G", "--step", "100").out)[0]["task_id"]
    assert bl("artifacts", "download", "--task-id", task, "--outcome", "failed").code == 0
    wanted = {row["job_id"] for row in bl.rows() if row["outcome"] == "failed" and row["step"] == 100}
    assert {path.stem for path in (bl.out / task).iterdir()} == wanted


def test_no_job_that_fits_is_no_failure(bl: Bl) -> None:
    ran = bl("trajectory", "download", "-g", "G", "--task", "nothing-like-this")
    assert (ran.code, bl.documents()) == (0, [])
    assert "0 of 44 job(s) of G selected" in ran.err


def test_a_word_that_the_server_does_not_know_is_its_own_sentence(bl: Bl) -> None:
    ran = bl("trajectory", "download", "-g", "G", "--status", "good")
    assert ran.code == 1
    assert "'good' is none of" in ran.err


# ---- rehearsals ----------------------------------------------------------------------------------------------------------------------

_DOWNLOADS = [
    ("pull", "--with", "metrics,trajectory,artifacts,tasks,jobs"),
    ("trajectory", "download"),
    ("artifacts", "download"),
    ("metrics", "download"),
    ("tasks", "download"),
    ("jobs", "download"),
]


@pytest.mark.parametrize("command", _DOWNLOADS, ids=lambda command: command[0])
def test_a_rehearsal_names_exactly_the_files_of_the_real_run_and_makes_nothing(bl: Bl, command: tuple[str, ...]) -> None:
    ran = bl(*command, "-g", "G", "--dry-run")
    plan = json.loads(ran.out)
    assert ran.code == 0, ran.err
    assert not bl.out.exists()
    assert {step["action"] for step in plan} == {"fetch"}
    assert all(set(step) == {"path", "what", "bytes", "action"} for step in plan)
    assert ran.err.splitlines()[-1].startswith(f"would fetch {len(plan)} file(s), ")
    assert "wrote" not in ran.err
    assert bl(*command, "-g", "G").code == 0
    made = {path.relative_to(bl.out).as_posix() for path in bl.out.rglob("*") if path.is_file() and ".benchloop" not in path.parts}
    assert made == {step["path"] for step in plan}


def test_a_rehearsal_says_what_would_be_kept_and_leaves_the_journal_alone(bl: Bl) -> None:
    bl("artifacts", "download", "-g", "G", "--sample", "4")
    journal = (bl.out / ".benchloop" / "journal.jsonl").read_bytes()
    ran = bl("artifacts", "download", "-g", "G", "--skip-existing", "--dry-run")
    plan = json.loads(ran.out)
    kept = [step for step in plan if step["action"] == "keep"]
    assert (len(plan), len(kept)) == (44, 4)
    assert all(step["bytes"] == (bl.out / step["path"]).stat().st_size for step in kept)
    assert ran.err.splitlines()[-1].endswith("; keep 4")
    assert (bl.out / ".benchloop" / "journal.jsonl").read_bytes() == journal


def test_a_rehearsal_of_artifacts_and_trajectories_knows_the_bytes(bl: Bl) -> None:
    rows = bl.rows()
    sizes = {step["path"].split("/")[1]: step["bytes"] for step in json.loads(bl("artifacts", "download", "-g", "G", "--dry-run").out)}
    assert sizes == {row["job_id"]: row["artifact_bytes"] for row in rows}
    (step,) = json.loads(bl("trajectory", "download", "-g", "G", "--dry-run", "--outcome", "failed").out)
    assert step["bytes"] == sum(row["trajectory_bytes"] for row in rows if row["outcome"] == "failed")
    (step,) = json.loads(bl("trajectory", "download", "-j", rows[0]["job_id"], "--dry-run").out)
    assert step == {
        "path": f"{rows[0]['job_id']}_trajectory.json", "what": "job_trajectory", "bytes": rows[0]["trajectory_bytes"], "action": "fetch",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["trajectory", "metadata", "artifacts"])
def test_a_download_task_is_rehearsed_too(bl: Bl, kind: str) -> None:
    task = json.loads(bl("download-tasks", "create", "-g", "G", "--task", "slugify").out)[0]["task_id"]
    ran = bl(kind, "download", "--task-id", task, "--dry-run", "--format", "csv")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == (1 + 1 if kind != "artifacts" else 1 + 4)
    assert not bl.out.exists()


def test_a_rehearsal_of_an_unknown_group_fails_as_the_real_run(bl: Bl) -> None:
    ran = bl("artifacts", "download", "-g", "NO", "--dry-run")
    assert (ran.code, ran.out.strip()) == (1, b"[]")
    assert "NO" in ran.err


def test_a_format_without_a_rehearsal_is_wrong_usage(bl: Bl) -> None:
    ran = bl("trajectory", "download", "-g", "G", "--format", "csv")
    assert ran.code == 2
    assert "use it with --dry-run" in ran.err
    assert not bl.out.exists()


def test_one_document_a_line_and_one_artifact_a_line(bl: Bl) -> None:
    lines = bl("trajectory", "get", "-g", "G", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["trajectory_id"] for line in lines] == [row["job_id"] for row in bl.rows()]
    listed = bl("artifacts", "download", "-g", "G", "--list-only", "--sample", "2", "--format", "csv", "--fields", "job_id,name,size").out
    assert len(listed.splitlines()) == 3
