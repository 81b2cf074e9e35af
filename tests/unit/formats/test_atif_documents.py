"""Bare ATIF documents: ungraded jobs, their continuations, exports refused by name, and the way back from a download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchloop_client.contract.trajectory import encode, normalise, stamp
from benchloop_client.formats.records import UnreadableRun
from tests.unit.formats.harbor_dirs import groups, messages, read, trajectory, write


def test_a_single_document_is_one_ungraded_job(tmp_path: Path) -> None:
    value = trajectory("one", final_metrics={"total_prompt_tokens": 12, "total_cost_usd": 0.5}, session_id="s")
    value["steps"][0].update(timestamp="2026-01-01T00:00:00Z", model_name="m")
    write(tmp_path / "hello.trajectory.json", value)
    (job,), rejected = read(tmp_path / "hello.trajectory.json")
    facts = job.facts
    assert (facts.task_id, facts.status, facts.reward, facts.reward_valid, facts.rewards) == ("hello", "completed", None, None, {})
    assert (facts.agent, facts.agent_version, facts.model, facts.n_input_tokens, facts.cost_usd) == ("coder", "1", "m", 12, 0.5)
    assert facts.started_at == facts.finished_at == "2026-01-01T00:00:00Z" and facts.meta["session_id"] == "s"
    assert [file.path for file in job.files] == ["hello.trajectory.json"] and not rejected


def test_a_folder_is_one_group(tmp_path: Path) -> None:
    write(tmp_path / "a" / "agent" / "trajectory.json", trajectory("a"))
    write(tmp_path / "b.json", trajectory("b"))
    write(tmp_path / ".hidden" / "c.json", trajectory("c"))
    write(tmp_path / "d.traces.json", [{"conversations": []}])
    write(tmp_path / "e.json", {"messages": []})
    write(tmp_path / "f.json", b"{")
    (group,) = groups(tmp_path)
    jobs, rejected = read(tmp_path)
    assert [job.facts.task_id for job in jobs] == ["a", "b"] and group.facts.expected is None
    assert [item.source for item in rejected] == ["d.traces.json", "e.json", "f.json"]
    assert "exported" in rejected[0].reason


def test_two_folders_of_one_name_are_two_groups(tmp_path: Path) -> None:
    for place in ("x", "y"):
        write(tmp_path / place / "runs" / "t.json", trajectory("t"))
    assert groups(tmp_path / "x" / "runs")[0].group_id != groups(tmp_path / "y" / "runs")[0].group_id


def test_continuations_and_summaries_belong_to_their_first_document(tmp_path: Path) -> None:
    copied = trajectory("one", "two")
    copied["steps"][0]["is_copied_context"] = True
    write(tmp_path / "x.trajectory.json", trajectory("one"))
    write(tmp_path / "x.trajectory.cont-1.json", copied)
    write(tmp_path / "x.trajectory.summarization-1-answers.json", trajectory("answer"))
    write(tmp_path / "lone.trajectory.cont-1.json", trajectory("alone"))
    jobs, _ = read(tmp_path)
    assert [messages(job) for job in jobs] == [["alone"], ["one", "two"]]
    names = {"x.trajectory.json", "x.trajectory.cont-1.json", "x.trajectory.summarization-1-answers.json"}
    assert {file.path for file in jobs[1].files} == names
    (alone,), _ = read(tmp_path / "x.trajectory.json")
    assert messages(alone) == ["one", "two"]


def test_a_downloaded_document_keeps_its_task(tmp_path: Path) -> None:
    document = stamp(normalise(trajectory("m")).document, job_id="J", group_id="G", task_id="the task")
    write(tmp_path / "J_trajectory.json", encode(document))
    assert read(tmp_path / "J_trajectory.json")[0][0].facts.task_id == "the task"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("a.traces.json", [], "exported conversation"),
        ("a.json", {"steps": []}, "neither an ATIF version nor an agent"),
        ("a.json", {"messages": []}, "no list of steps"),
        ("a.json", [1, 2], "no list of steps"),
        ("a.json", b"nope", "not JSON"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str, value: Any, says: str) -> None:
    with pytest.raises(UnreadableRun, match=says):
        groups(write(tmp_path / name, value), format="atif")


def test_links_out_and_images_beside(tmp_path: Path) -> None:
    outside = write(tmp_path / "out.json", trajectory("secret"))
    folder = tmp_path / "run"
    value = trajectory("m")
    value["steps"].append({"source": "user", "message": [{"type": "image", "source": {"media_type": "image/png", "path": "i/x.png"}}]})
    write(folder / "a.json", value)
    write(folder / "i" / "x.png", b"png")
    (folder / "b.json").symlink_to(outside)
    jobs, rejected = read(folder)
    assert [item.source for item in rejected] == ["b.json"]
    assert [item.name for item in jobs[0].media] == ["i/x.png"] and [file.path for file in jobs[0].files] == ["a.json", "i/x.png"]


def test_excluded_documents_are_not_read(tmp_path: Path) -> None:
    write(tmp_path / "a.json", trajectory("a"))
    write(tmp_path / "b.json", trajectory("b"))
    assert [job.facts.task_id for job in read(tmp_path, exclude=("b*",))[0]] == ["a"]


def test_a_step_is_part_of_a_jobs_key(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps(trajectory("a")))
    keys = {read(path, step=step)[0][0].facts.trial_key for step in (None, 1, 2)}
    assert len(keys) == 3
