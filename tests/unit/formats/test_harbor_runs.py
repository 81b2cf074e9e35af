"""Harbor run directories: which groups they become, what is left out and said so, and how trajectories are joined."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.trajectory import check_strict, counts
from benchloop_client.formats.records import UnreadableRun
from tests.unit.formats.harbor_dirs import (
    JOB_ID,
    config,
    groups,
    messages,
    read,
    read_group,
    result,
    trajectory,
    write,
    write_job,
    write_trial,
)


def test_one_agent_is_one_group(tmp_path: Path) -> None:
    write_job(tmp_path / "run", started_at="2026-01-01T10:00:00.5", finished_at="2026-01-01T11:00:00Z")
    write_trial(tmp_path / "run", "a__1111111")
    (group,) = groups(tmp_path)
    assert group.group_id.startswith("nightly-") and len(group.group_id) == len("nightly-") + 8
    facts = group.facts
    assert (facts.name, facts.run_id, facts.benchmark, facts.agent, facts.model, facts.expected) == (
        "nightly", JOB_ID, "house", "coder", "model-a", 4,
    )  # fmt: skip
    assert facts.started_at is None and facts.finished_at == "2026-01-01T11:00:00Z"


def test_several_agents_and_models_are_several_groups(tmp_path: Path) -> None:
    write_job(tmp_path, agents=(("coder", "model-a"), ("coder", "model-b")))
    write_trial(tmp_path, "a__1111111", model="model-a")
    write_trial(tmp_path, "a__2222222", model="model-b")
    write_trial(tmp_path, "b__3333333", model="model-b")
    found = {group.group_id.partition("--")[2]: group for group in groups(tmp_path)}
    assert set(found) == {"coder--model-a", "coder--model-b"}
    assert [len(read_group(group)[0]) for group in found.values()] == [1, 2]
    assert [group.facts.expected for group in found.values()] == [2, 2]
    assert {group.group_id for group in groups(tmp_path, group="G")} == {"G--coder--model-a", "G--coder--model-b"}


def test_a_planned_agent_without_trials_already_has_its_group(tmp_path: Path) -> None:
    write_job(tmp_path, agents=(("coder", "model-a"), ("other", None)))
    write_trial(tmp_path, "a__1111111")
    before = [group.group_id for group in groups(tmp_path)]
    write_trial(tmp_path, "a__2222222", agent="other", model=None)
    assert [group.group_id for group in groups(tmp_path)] == before and len(before) == 2


def test_the_locks_plan_counts_per_agent(tmp_path: Path) -> None:
    write_job(tmp_path, agents=(("x", None), ("y", None)))
    trials = [{"agent": {"name": name}} for name in ("x", "x", "x", "y")]
    write(tmp_path / "lock.json", {"trials": trials, "created_at": "2026-01-01T00:00:00Z"})
    assert [(group.facts.agent, group.facts.expected, group.facts.started_at) for group in groups(tmp_path)] == [
        ("x", 3, "2026-01-01T00:00:00Z"),
        ("y", 1, "2026-01-01T00:00:00Z"),
    ]


def test_a_job_without_result_keeps_its_group_as_it_grows(tmp_path: Path) -> None:
    write_job(tmp_path)
    (tmp_path / "result.json").unlink()
    write(tmp_path / "a__1111111" / "config.json", config("a__1111111"))
    (early,) = groups(tmp_path)
    assert early.facts.expected is None and [job.facts.status for job in read_group(early)[0]] == ["running"]
    write_job(tmp_path)
    write_trial(tmp_path, "a__1111111")
    write_trial(tmp_path, "b__2222222")
    (late,) = groups(tmp_path)
    assert late.group_id == early.group_id and len(read_group(late)[0]) == 2


def test_several_jobs_in_one_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_job(tmp_path / "jobs" / name, id=f"id of {name}")
        write_trial(tmp_path / "jobs" / name, "a__1111111")
    found = groups(tmp_path)
    assert len({group.group_id for group in found}) == 2
    (merged,) = groups(tmp_path, group="G")
    jobs, _ = read_group(merged)
    assert merged.facts.expected == 8 and len({job.facts.trial_key for job in jobs}) == 2


def test_a_step_of_a_group_does_not_say_what_the_group_plans(tmp_path: Path) -> None:
    write_job(tmp_path)
    write_trial(tmp_path, "a__1111111")
    (group,) = groups(tmp_path, group="G", step=100)
    assert (group.group_id, group.facts.expected, group.facts.extra["expected_by_step"]) == ("G", None, {"100": 4})


def test_legacy_results_embed_their_trials(tmp_path: Path) -> None:
    embedded = [result("a__1111111", config=config("a__1111111")), result("b__2222222", config=config("b__2222222"))]
    write_job(tmp_path, trial_results=embedded)
    write_trial(tmp_path, "a__1111111")
    jobs, rejected = read(tmp_path)
    assert [job.facts.trial_key.rpartition("/")[2] for job in jobs] == ["a__1111111", "b__2222222"] and not rejected
    assert json.loads(jobs[1].files[0].source)["task_name"] == "b"


def test_one_unreadable_trial_does_not_stop_the_others(tmp_path: Path) -> None:
    write_job(tmp_path)
    write_trial(tmp_path, "a__1111111")
    write(write_trial(tmp_path, "b__2222222") / "result.json", b'{"id": ')
    (tmp_path / "c__3333333").mkdir()
    write_trial(tmp_path, "d__4444444")
    jobs, rejected = read(tmp_path)
    assert [job.location for job in jobs] == ["a__1111111", "d__4444444"]
    assert {item.source for item in rejected} == {"b__2222222", "c__3333333"}
    assert all(item.reason for item in rejected)


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"steps": []}', b'{"steps": [' + b"[" * 400 + b"]" * 400 + b"]}"])
def test_a_bad_trajectory_is_rejected_and_the_facts_stay(tmp_path: Path, raw: bytes) -> None:
    write_job(tmp_path)
    write(write_trial(tmp_path, "a__1111111") / "agent" / "trajectory.json", raw)
    jobs, rejected = read(tmp_path)
    assert jobs[0].trajectory is None and jobs[0].facts.reward == 1.0
    assert [item.source for item in rejected] == ["a__1111111/agent/trajectory.json"]
    assert jobs[0].facts.meta["trajectory_problem"].startswith("agent/trajectory.json: ")
    assert "agent/trajectory.json" in {file.path for file in jobs[0].files}


def test_a_torn_trajectory_of_a_running_trial_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a__1111111" / "config.json", config("a__1111111"))
    place = write(tmp_path / "a__1111111" / "agent" / "trajectory.json", json.dumps(trajectory("one", "two"))[:-9])
    jobs, rejected = read(tmp_path)
    assert jobs[0].trajectory is None and not rejected and len(jobs[0].notes) == 1
    assert "trajectory_problem" not in jobs[0].facts.meta
    write(place, trajectory("one", "two"))
    assert messages(read(tmp_path)[0][0]) == ["one", "two"]


def test_continuations_are_joined_without_what_they_copy(tmp_path: Path) -> None:
    write_job(tmp_path)
    agent = write_trial(tmp_path, "a__1111111") / "agent"
    first = trajectory("one", "two", continued_trajectory_ref="trajectory.cont-1.json", final_metrics={"total_prompt_tokens": 10})
    first["steps"][0]["metrics"] = {"prompt_tokens": 10}
    second = trajectory("one", "two", "three", final_metrics={"total_prompt_tokens": 25, "total_steps": 3})
    for step in second["steps"][:2]:
        step["is_copied_context"] = True
    second["steps"][0]["metrics"] = {"prompt_tokens": 10}
    second["steps"][2]["metrics"] = {"prompt_tokens": 15}
    write(agent / "trajectory.json", first)
    write(agent / "trajectory.cont-1.json", second)
    write(agent / "trajectory.cont-10.json", trajectory("five"))
    write(agent / "trajectory.cont-2.json", trajectory("four"))
    write(agent / "trajectory.summarization-1-summary.json", trajectory("summary"))
    (job,) = read(tmp_path)[0]
    assert messages(job) == ["one", "two", "three", "four", "five"]
    document = job.trajectory().document  # type: ignore[misc]
    assert counts(document).prompt_tokens == 25 and document["final_metrics"] == {"total_prompt_tokens": 25, "total_steps": 5}
    assert "continued_trajectory_ref" not in document
    assert "agent/trajectory.summarization-1-summary.json" in {file.path for file in job.files}
    check_strict(document)


def _png(folder: Path, name: str) -> dict[str, Any]:
    write(folder / name, b"\x89PNG\r\n\x1a\n" + name.encode())
    return {"type": "image", "source": {"media_type": "image/png", "path": name}}


def test_trial_steps_are_one_document(tmp_path: Path) -> None:
    write_job(tmp_path)
    steps = [{"step_name": "second", "agent_result": {}}, {"step_name": "first", "agent_result": {}}]
    trial = write_trial(tmp_path, "a__1111111", agent_result=None, step_results=steps)
    for name in ("first", "second"):
        agent = trial / "steps" / name / "agent"
        value = trajectory(f"{name} 1", final_metrics={"total_prompt_tokens": 4})
        value["steps"].append({"source": "user", "message": [_png(agent, "shot.png")]})
        write(agent / "trajectory.json", value)
    (job,) = read(tmp_path)[0]
    document = job.trajectory().document  # type: ignore[misc]
    assert [step["extra"]["trial_step"] for step in document["steps"]] == ["second", "second", "first", "first"]
    assert document["final_metrics"]["total_prompt_tokens"] == 8
    assert [item.name for item in job.media] == ["steps/second/agent/shot.png", "steps/first/agent/shot.png"]
    assert [item.source.read_bytes()[:4] for item in job.media] == [b"\x89PNG"] * 2
    check_strict(document)


def test_media_is_taken_from_inside_the_trial_only(tmp_path: Path) -> None:
    write_job(tmp_path)
    agent = write_trial(tmp_path, "a__1111111") / "agent"
    write(tmp_path / "outside.png", b"secret")
    (agent / "x").mkdir(parents=True)
    (agent / "linked.png").symlink_to(tmp_path / "outside.png")
    elsewhere = ["../../outside.png", "/etc/hostname", "https://host.test/a.png", "linked.png", "gone.png", "a\0b"]
    parts = [_png(agent, "x/in.png")] + [{"type": "image", "source": {"media_type": "image/png", "path": path}} for path in elsewhere]
    value = trajectory("m")
    value["steps"].append({"source": "user", "message": parts})
    write(agent / "trajectory.json", value)
    (job,) = read(tmp_path)[0]
    assert [(item.name, item.mime_type) for item in job.media] == [("x/in.png", "image/png")]


def test_only_the_allowed_files_are_taken(tmp_path: Path) -> None:
    write_job(tmp_path)
    trial = write_trial(tmp_path, "a__1111111")
    for name in ("agent/log/a b.txt", "verifier/reward.txt", "artifacts/logs/x", "trial.log", "notes.txt", "private/key", "sessions/s"):
        write(trial / name, "x")
    (trial / "verifier" / "run.sh").write_text("#!/bin/sh\n")
    (trial / "verifier" / "run.sh").chmod(0o755)
    files = {file.path: file for file in read(tmp_path)[0][0].files}
    assert set(files) == {
        "config.json", "result.json", "trial.log", "agent/log/a b.txt", "artifacts/logs/x", "verifier/reward.txt", "verifier/run.sh",
    }  # fmt: skip
    assert files["verifier/run.sh"].executable and not files["trial.log"].executable


def test_links_out_of_the_trial_are_never_followed(tmp_path: Path) -> None:
    write(tmp_path / "secret" / "key", "k")
    run = write_job(tmp_path / "run")
    trial = write_trial(run, "a__1111111")
    write(trial / "agent" / "real.txt", "real")
    (trial / "agent" / "file").symlink_to(tmp_path / "secret" / "key")
    (trial / "agent" / "folder").symlink_to(tmp_path / "secret")
    (trial / "agent" / "loop").symlink_to(trial / "agent")
    (trial / "agent" / "inner.txt").symlink_to("real.txt")
    (trial / "artifacts").symlink_to(tmp_path / "secret")
    (run / "b__2222222").symlink_to(tmp_path / "secret")
    jobs, rejected = read(run)
    assert {file.path for file in jobs[0].files} == {"config.json", "result.json", "agent/real.txt", "agent/inner.txt"}
    assert [note.partition(" ")[0] for note in jobs[0].notes] == ["agent/file", "agent/folder", "agent/loop", "artifacts"]
    assert [item.source for item in rejected] == ["b__2222222"]


def test_a_linked_trajectory_outside_is_not_read(tmp_path: Path) -> None:
    outside = write(tmp_path / "t.json", trajectory("secret"))
    run = write_job(tmp_path / "run")
    agent = write_trial(run, "a__1111111") / "agent"
    agent.mkdir()
    (agent / "trajectory.json").symlink_to(outside)
    jobs, rejected = read(run)
    assert jobs[0].trajectory is None and [item.source for item in rejected] == ["a__1111111/agent/trajectory.json"]


def test_pipes_and_the_like_are_left_out(tmp_path: Path) -> None:
    write_job(tmp_path)
    trial = write_trial(tmp_path, "a__1111111")
    (trial / "agent").mkdir()
    os.mkfifo(trial / "agent" / "pipe")
    jobs, _ = read(tmp_path)
    assert "agent/pipe" not in {file.path for file in jobs[0].files} and "agent/pipe" in jobs[0].notes[0]


def test_what_is_too_large_is_left_out_and_said(tmp_path: Path) -> None:
    write_job(tmp_path)
    trial = write_trial(tmp_path, "a__1111111")
    write(trial / "agent" / "big", b"x" * 5000)
    write(trial / "agent" / "small", b"x" * 900)
    write(trial / "verifier" / "small", b"x" * 900)
    jobs, _ = read(tmp_path, max_file_bytes=2000, max_job_bytes=2500)
    assert [note.partition(" ")[0] for note in jobs[0].notes] == ["agent/big", "verifier/small"]
    assert "agent/small" in {file.path for file in jobs[0].files}


@pytest.mark.parametrize("glob", ["agent", "agent/*", "*.json*l", "agent/log/*", "events.jsonl"])
def test_excluded_files_are_not_taken(tmp_path: Path, glob: str) -> None:
    write_job(tmp_path)
    write(write_trial(tmp_path, "a__1111111") / "agent" / "log" / "events.jsonl", "x")
    jobs, _ = read(tmp_path, exclude=(glob,))
    assert {file.path for file in jobs[0].files} == {"config.json", "result.json"} and not jobs[0].notes


def test_an_excluded_trajectory_is_not_sent_in_another_form(tmp_path: Path) -> None:
    write_job(tmp_path)
    agent = write_trial(tmp_path, "a__1111111") / "agent"
    value = trajectory("m")
    value["steps"].append({"source": "user", "message": [_png(agent, "x.png")]})
    write(agent / "trajectory.json", value)
    assert read(tmp_path, exclude=("*.png",))[0][0].media == ()
    assert read(tmp_path, exclude=("agent/trajectory.json",))[0][0].trajectory is None


def test_jobs_hold_few_documents(tmp_path: Path) -> None:
    write_job(tmp_path)
    long = "x" * 3_000_000
    places = [write(write_trial(tmp_path, f"{x}__1111111") / "agent" / "trajectory.json", trajectory(x, long)) for x in "ab"]
    jobs, _ = read(tmp_path)
    for place in places:
        write(place, trajectory("changed"))
    assert messages(jobs[0]) == ["changed"] and messages(jobs[1]) == ["b", long]


def test_names_that_are_not_utf8_get_a_safe_name(tmp_path: Path) -> None:
    write_job(tmp_path)
    trial = write_trial(tmp_path, "a__1111111")
    (trial / "agent").mkdir()
    os.close(os.open(os.fsencode(trial / "agent") + b"/bad\xff\\name", os.O_CREAT))
    assert "agent/bad%FF%5Cname" in {file.path for file in read(tmp_path)[0][0].files}


@pytest.mark.parametrize("make", ["empty", "trial", "absent", "text"])
def test_what_is_no_run_is_refused_in_one_sentence(tmp_path: Path, make: str) -> None:
    path = tmp_path / "p"
    if make == "trial":
        path = write_trial(tmp_path, "a__1111111")
    elif make == "empty":
        path.mkdir()
    elif make == "text":
        path.write_text("hello")
    with pytest.raises(UnreadableRun) as caught:
        groups(path, format="harbor")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
