"""Files of lists, metrics, trajectories and pulls, from a server of the documented protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchloop_client.actions import events, jobs, metrics, pull, tasks, trajectory
from benchloop_client.actions.destination import Destination
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.lists import Query
from benchloop_client.actions.work import Work
from benchloop_client.errors import AuthError, NotFound
from tests.support.documented import Documented, document
from tests.support.scripted import Answer, Scripted, error, of_json

Make = Callable[..., Destination]
_ALL = pull.RESOURCES


def _files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".benchloop" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def test_lists_are_complete_files_with_the_documented_keys(
    old: Documented, work: Work, destination: Make, seen: list[events.Event]
) -> None:
    with destination() as target:
        assert jobs.download(work, ["G1"], target, query=Query(page_size=2, everything=True)).ok
        assert tasks.download(work, ["G1"], target, query=Query(everything=True)).ok
    files = _files(target.root)
    assert json.loads(files["G1/job_list.json"]) == {"group_id": "G1", "total": 3, "jobs": old.groups["G1"]}
    assert list(json.loads(files["G1/task_list.json"])) == ["group_id", "total", "tasks"]
    assert files["G1/job_list.json"].endswith(b"\n}\n")
    assert events.Wrote(target.root / "G1/job_list.json", "3 jobs") in seen


@pytest.mark.parametrize("action", [jobs.download, tasks.download])
def test_an_unknown_group_writes_nothing_and_is_named(
    old: Documented, work: Work, destination: Make, action: Callable[..., object]
) -> None:
    with destination() as target:
        report = action(work, ["NO", "G1"], target, query=Query(everything=True))
    assert [(failure.label, type(failure.error)) for failure in report.failures] == [("NO", NotFound)]  # type: ignore[attr-defined]
    assert len(_files(target.root)) == 1


def test_metrics_of_groups_keep_unknown_names_after_the_documented_ones(old: Documented, server: Scripted, work: Work) -> None:
    given = {"new_name": 1, "avg_num_turns": 2, "job_count": 3}
    server.on("GET /openapi/groups/{group}/metrics/overall", of_json({"run_metrics": given, "tokenized_metrics": [given], "x": 1}))
    found = metrics.overall(work, "G1")
    assert list(found) == ["group_id", "run_metrics", "tokenized_metrics"]
    assert list(found["run_metrics"]) == ["job_count", "avg_num_turns", "new_name"]


def test_token_metrics_come_from_the_first_page_that_has_them(old: Documented, server: Scripted, work: Work) -> None:
    def page(seen: object) -> Answer:
        skip = int(seen.query["skip"])  # type: ignore[attr-defined]
        rows = [{"job_id": f"J{n}"} for n in range(3)][skip : skip + 1]
        return of_json({"metrics": rows, "total": 3, "tokenized_metrics": {"tokenized_job_count": skip} if skip else None})

    server.on("GET /openapi/metrics", page)
    text = b"".join(metrics.detail(work, "G1", layout=Layout(pretty=False)))
    assert json.loads(text)["tokenized_metrics"] == {"tokenized_job_count": 1}


def test_a_group_of_an_old_server_is_one_document_in_list_order(
    old: Documented, work: Work, destination: Make, seen: list[events.Event]
) -> None:
    old.trajectories["J2"] = error(404, "none")
    old.trajectories["J1"] = of_json(document("J1"), delay=0.3)
    with destination() as target:
        assert trajectory.download_groups(work, ["G1"], target).ok
    found = json.loads(_files(target.root)["G1/trajectory.json"])
    assert found == {"group_id": "G1", "trajectories": [document("J1"), document("J3")]}
    assert events.Noted("1 of 3 job(s) in G1 have no trajectory") in seen


def test_one_job_that_fails_fails_its_group_and_leaves_no_file(old: Documented, work: Work, destination: Make) -> None:
    old.trajectories["J2"] = error(500, "broken")
    with destination() as target:
        report = trajectory.download_groups(work, ["G1", "G2"], target)
    assert [failure.label for failure in report.failures] == ["G1"]
    assert list(_files(target.root)) == ["G2/trajectory.json"]


def test_lines_are_split_wherever_the_pieces_end() -> None:
    text = b'{"a":1}\n\n{"b":"x"}\n{"c":2}'
    for size in (1, 2, 5, 100):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert list(trajectory.lines(pieces)) == [b'{"a":1}', b'{"b":"x"}', b'{"c":2}']


def test_pull_of_a_group_writes_all_documented_files(
    old: Documented, server: Scripted, work: Work, destination: Make, seen: list[events.Event]
) -> None:
    old.reports = {"G1": "# group"}
    old.weaknesses = {"J3": "# weak"}
    server.on("GET /openapi/jobs/J1/report", of_json({"reports": [{"content": "# J1"}, {"content": "later"}]}))
    with destination() as target:
        assert pull.pull_groups(work, ["G1"], target, resources=_ALL).ok
    assert set(_files(target.root)) == {
        *(f"G1/J{n}/J{n}.tgz" for n in (1, 2, 3)),
        *(f"G1/J{n}_metadata.json" for n in (1, 2, 3)),
        *(f"G1/{name}.json" for name in ("detail_metrics", "job_list", "overall_metrics", "task_list", "trajectory")),
        "G1/J1_report.md",
        "G1/J3_rsi.md",
        "G1_report.md",
    }
    assert _files(target.root)["G1/J1_report.md"] == b"# J1"
    assert [event.text for event in seen if isinstance(event, events.Noted)] == [
        "no report for 2 job(s): no file written",
        "no weakness report for 1 group(s) and 2 job(s): no file written",
    ]


def test_pull_lists_the_jobs_of_a_group_once_for_all_that_need_them(
    old: Documented, server: Scripted, work: Work, destination: Make
) -> None:
    with destination() as target:
        assert pull.pull_groups(work, ["G1"], target, resources=("report", "rsi", "metadata", "artifacts")).ok
    assert len(server.asked("/openapi/jobs?")) == 1
    with destination() as target:
        assert pull.pull_groups(work, ["G1"], target, resources=("metrics", "tasks")).ok
    assert len(server.asked("/openapi/jobs?")) == 1


def test_pull_names_each_step_that_failed(old: Documented, work: Work, destination: Make) -> None:
    old.archives["J2"] = error(500, "boom")
    with destination() as target:
        report = pull.pull_groups(work, ["NO", "G1"], target, resources=_ALL)
    labels = [failure.label for failure in report.failures]
    steps = ("metrics:overall", "metrics:detail", "trajectory", "report", "rsi", "tasks", "jobs", "metadata", "artifacts")
    assert labels == [*(f"NO:{step}" for step in steps), "G1:J2:J2.tgz"]
    assert report.what == "pull step(s)"


def test_pull_of_jobs_writes_beside_each_other(old: Documented, work: Work, destination: Make, seen: list[events.Event]) -> None:
    old.reports = {"J1": "# J1"}
    with destination() as target:
        report = pull.pull_jobs(work, ["J1", "K1", "NO"], target, resources=_ALL)
    assert [failure.label for failure in report.failures] == [
        f"NO:{step}" for step in ("metrics", "trajectory", "report", "rsi", "metadata", "artifacts")
    ]
    assert sorted(_files(target.root)) == sorted(
        ["J1_report.md"]
        + [f"{job}{rest}" for job in ("J1", "K1") for rest in ("_run_metrics.json", "_trajectory.json", "_metadata.json", f"/{job}.tgz")]
    )
    assert events.Noted("tasks and jobs: a list of a group; with -j there is nothing to fetch for it") in seen


def test_pull_of_jobs_works_on_several_at_once(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    old.fill("G9", [f"L{n}" for n in range(6)])
    old.trajectories = {f"L{n}": of_json(document(f"L{n}"), delay=0.5) for n in range(6)}
    with destination() as target:
        assert pull.pull_jobs(work, list(old.trajectories), target, resources=("trajectory",)).ok
    times = [seen.at for seen in server.asked("/trajectory")]
    assert times[1] - times[0] < 0.4


def test_pull_without_placeholder_fails_where_an_archive_is_missing(old: Documented, work: Work, destination: Make) -> None:
    old.archives["J2"] = error(404, "none")
    for pulled, ids, label in ((pull.pull_groups, ["G1"], "G1:J2:J2.tgz"), (pull.pull_jobs, ["J1", "J2"], "J2:J2.tgz")):
        with destination(label.replace(":", "_")) as target:
            report = pulled(work, ids, target, resources=("artifacts",), placeholder=False)  # type: ignore[operator]
        assert [failure.label for failure in report.failures] == [label]


def test_pull_with_a_refused_key_raises_and_stops(old: Documented, server: Scripted, work: Work, destination: Make) -> None:
    for path in ("groups/{g}/metrics/overall", "jobs/{j}/artifacts/download"):
        server.on(f"GET /openapi/{path}", error(401, "no"))
        with destination() as target, pytest.raises(AuthError):
            pull.pull_groups(work, ["G1", "G2"], target, resources=_ALL)
        server.on("GET /openapi/groups/{g}/metrics/overall", of_json({}))
