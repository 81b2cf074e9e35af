"""Wire contract §11: how ids are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.joined.conformance.conftest import World
from tests.joined.conformance.running import Ran


def _jobs(world: World, *argv: str, stdin: str | None = None) -> list[str]:
    """The ids whose metrics were asked for, in the order of the answers."""
    world.on("GET /openapi/metrics/{job}", lambda seen: _named(world, seen.path_ids["job"]))
    done = world.bl("metrics", "get", *argv, stdin=stdin)
    assert done.code == 0, str(done)
    return [row["job_id"] for row in done.json]


def _named(world: World, job: str):  # type: ignore[no-untyped-def]
    assert world.protocol is not None
    return world.protocol.json({"job_id": job})


def _usage(done: Ran, world: World) -> str:
    assert (done.code, world.asked()) == (2, []), str(done)
    return done.err


@pytest.mark.parametrize("name", ["-j", "--job"])
def test_repeated_and_listed(old: World, name: str) -> None:
    assert _jobs(old, name, " b , a,,", name, "c,b", name, "a") == ["b", "a", "c"]


def test_groups_are_given_alike(old: World) -> None:
    done = old.bl("overview", "get", "-g", "P1,G1", "--group", "G1", "--scope", "summary")
    assert [row["group_id"] for row in done.json] == ["P1", "G1"]


def test_dash_reads_stdin(old: World) -> None:
    assert _jobs(old, "-j", "-", stdin=" a\nb\tc\r\n\n a b ") == ["a", "b", "c"]


def test_commas_on_stdin_separate_too(old: World) -> None:
    assert _jobs(old, "-j", "-", stdin="a,b, c\n") == ["a", "b", "c"]


def test_a_dash_in_a_list_is_an_id(old: World) -> None:
    assert _jobs(old, "-j", "a,-,b", stdin="x y") == ["a", "-", "b"]


def test_a_second_dash_is_wrong_usage(old: World) -> None:
    _usage(old.bl("metrics", "get", "-j", "-", "-j", "-", stdin="a"), old)


def test_a_file_of_ids(old: World, tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text("a b,c\n")
    assert _jobs(old, "-j", f"x,@{path}", "-j", "@@y") == ["x", "a", "b", "c", "@y"]


def test_no_comments_and_no_case(old: World) -> None:
    assert _jobs(old, "-j", "-", stdin="a A #b\n") == ["a", "A", "#b"]


@pytest.mark.parametrize("job", ["x" * 300, "a/b?c#d", "%41", "名", "a b", "a+b&c=d"])
def test_any_other_id_is_asked_for_as_it_is(old: World, job: str) -> None:
    assert _jobs(old, "-j", job) == [job]


@pytest.mark.parametrize("job", [".", "..", "a\0b"])
def test_ids_that_no_path_can_hold_are_wrong_usage(old: World, job: str) -> None:
    _usage(old.bl("metrics", "get", "-j", job), old)


_TARGETED = ["metrics get", "trajectory get", "report get", "rsi get", "overview get", "artifacts download", "pull", "report trigger"]


@pytest.mark.parametrize("command", _TARGETED)
def test_groups_and_jobs_exclude_each_other(old: World, command: str) -> None:
    _usage(old.bl(*command.split(), "-g", "G1", "-j", "J1"), old)


@pytest.mark.parametrize("command", [*_TARGETED, "tasks get", "jobs download", "brm list", "brm status", "brm run"])
def test_some_id_is_needed(old: World, command: str) -> None:
    _usage(old.bl(*command.split()), old)
    _usage(old.bl(*command.split(), "-g" if "status" not in command else "--task-id", " , "), old)


@pytest.mark.parametrize("command", ["tasks get", "tasks download", "jobs get", "jobs download"])
def test_lists_take_groups_only(old: World, command: str) -> None:
    assert "-j/--job" in _usage(old.bl(*command.split(), "-j", "J1"), old)


def test_task_id_is_one_trimmed_value(old: World, tmp_path: Path) -> None:
    old.bl("metadata", "download", "--task-id", " a,- ", "-o", str(tmp_path), stdin="x")
    assert [path for _, path, _ in old.asked()] == ["/openapi/trajectory-download-tasks/a,-"]


@pytest.mark.parametrize("command", ["trajectory", "artifacts"])
@pytest.mark.parametrize("other", ["-g", "-j"])
def test_task_id_excludes_groups_and_jobs(old: World, command: str, other: str) -> None:
    _usage(old.bl(command, "download", "--task-id", "T1", other, "X"), old)


@pytest.mark.parametrize("value", [".", "..", "a/b", "a\\b", "a\0b", "  "])
@pytest.mark.parametrize("command", ["trajectory download", "artifacts download", "metadata download", "brm status"])
def test_characters_of_a_task_id(old: World, command: str, value: str) -> None:
    _usage(old.bl(*command.split(), "--task-id", value), old)


def test_task_ids_of_brm_are_lists(old: World) -> None:
    done = old.bl("brm", "status", "--task-id", "a, b", "--task-id", "-", stdin="c a")
    assert [row["task_id"] for row in done.json] == ["a", "b", "c"]
