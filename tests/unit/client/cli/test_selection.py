"""Which jobs a selection means: what is asked of the server, what this client looks at itself, and samples that stay the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchloop_client.actions import artifact_lists, choosing, events, trajectory
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.selection import Selection
from benchloop_client.actions.work import Work
from benchloop_client.client import Client
from benchloop_client.errors import NotFound, UsageError
from benchloop_client.settings import Flags, load
from tests.support.documented import Documented
from tests.support.scripted import Scripted, scripted
from tests.unit.client.cli.conftest import Bl

_IDS = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=30)


@given(_IDS, st.integers(1, 10), st.text())
def test_a_sample_has_as_many_as_there_are_in_their_order_and_is_drawn_the_same_again(jobs: list[str], count: int, seed: str) -> None:
    selection = Selection(sample=count, seed=seed or None)
    drawn = selection.drawn(jobs, "G1")
    assert len(drawn) == min(count, len(jobs))
    assert drawn == [job for job in jobs if job in set(drawn)]
    assert set(selection.drawn(jobs[::-1], "G1")) == set(drawn)


@given(_IDS.filter(bool), st.integers(1, 10))
def test_a_job_that_arrives_later_takes_one_place_at_most(jobs: list[str], count: int) -> None:
    selection = Selection(sample=count)
    before, after = set(selection.drawn(jobs[:-1], "G1")), set(selection.drawn(jobs, "G1"))
    assert len(before - after) <= 1
    assert after - before <= {jobs[-1]}


def test_seeds_and_groups_draw_differently() -> None:
    jobs = [f"J{n}" for n in range(100)]
    drawn = [tuple(Selection(sample=10, seed=seed).drawn(jobs, name)) for seed, name in ((None, "G1"), (None, "G2"), ("7", "G1"))]
    assert len(set(drawn)) == 3
    assert drawn[0] == tuple(Selection(sample=10, seed="G1").drawn(jobs, "other"))


def test_every_selection_is_another_source_and_none_is_the_whole() -> None:
    selections = [
        Selection(),
        Selection(outcome=("failed",)),
        Selection(status=("failed",)),
        Selection(outcome=("failed", "errored")),
        Selection(tasks=("failed",)),
        Selection(steps=(1,)),
        Selection(fail_reasons=("failed",)),
        Selection(sample=1),
        Selection(sample=1, seed="2"),
        Selection(outcome=("failed",), sample=1),
    ]
    sources = [selection.source("group_trajectory G1", "G1") for selection in selections]
    assert sources[0] == "group_trajectory G1"
    assert len(set(sources)) == len(sources)
    assert Selection(outcome=("a", "b")).source("x", "G") == Selection(outcome=("b", "a")).source("x", "G")
    assert [bool(selection) for selection in selections] == [False] + [True] * 9


# ---- against a server that cannot filter -------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as running:
        yield running


@pytest.fixture
def old(server: Scripted) -> Documented:
    """Sixty jobs of G1; each knows its outcome, its step and its task."""
    documented = Documented(server)
    documented.fill("G1", [f"J{n}" for n in range(60)])
    for n, row in enumerate(documented.groups["G1"]):
        row |= {"outcome": ("passed", "failed", "errored")[n % 3], "step": n % 2, "task_id": f"t{n % 4}", "trajectory_bytes": 100 + n}
    return documented


@pytest.fixture
def seen() -> list[events.Event]:
    return []


@pytest.fixture
def client(server: Scripted) -> Iterator[Client]:
    with Client(load(Flags(host=server.origin, api_key="k", retry=0), {"HOME": "/nonexistent"})) as opened:
        yield opened


def _work(client: Client, seen: list[events.Event], **selection: Any) -> Work:
    return Work(client, seen.append, Layout(), Selection(**selection))


def test_an_older_servers_rows_are_looked_at_one_by_one(old: Documented, client: Client, seen: list[events.Event]) -> None:
    chosen = choosing.choose(_work(client, seen, outcome=("failed", "errored"), steps=(0,), tasks=("t0", "t2")), "G1")
    rows = old.groups["G1"]
    wanted = [row for row in rows if row["outcome"] != "passed" and row["step"] == 0 and row["task_id"] in {"t0", "t2"}]
    assert chosen.jobs == tuple(row["job_id"] for row in wanted)
    assert (chosen.of, chosen.size) == (60, sum(row["trajectory_bytes"] for row in wanted))
    assert seen == [events.Noted(f"{len(wanted)} of 60 job(s) of G1 selected (outcome=errored,failed task=t0,t2 step=0)")]


def test_the_list_is_asked_for_once_however_often_it_is_needed(
    old: Documented, server: Scripted, client: Client, seen: list[events.Event]
) -> None:
    work = _work(client, seen, outcome=("failed",))
    assert choosing.choose(work, "G1") is choosing.choose(work, "G1")
    assert artifact_lists.known_jobs(work, "G1") == list(trajectory.job_ids(work, "G1"))
    assert len(server.asked("/openapi/jobs?")) == 1
    assert len(seen) == 1


def test_what_a_server_does_not_tell_cannot_be_selected_by(old: Documented, client: Client, seen: list[events.Event]) -> None:
    with pytest.raises(UsageError, match="does not tell the fail reason of the jobs of G1"):
        choosing.choose(_work(client, seen, fail_reasons=("timeout",)), "G1")


def test_the_documented_filter_goes_to_an_older_server_and_several_do_not(
    old: Documented, server: Scripted, client: Client, seen: list[events.Event]
) -> None:
    for row in old.groups["G1"]:
        row["status"] = "completed" if row["step"] else "running"
    choosing.choose(_work(client, seen, status=("completed",)), "G1")
    assert server.asked("/openapi/jobs?")[-1].query["status"] == "completed"
    assert len(choosing.choose(_work(client, seen, status=("running", "pending")), "G1").jobs) == 30
    assert "status" not in server.asked("/openapi/jobs?")[-1].query


def test_an_unknown_group_is_named(old: Documented, client: Client, seen: list[events.Event]) -> None:
    with pytest.raises(NotFound, match="NO"):
        choosing.choose(_work(client, seen, outcome=("failed",)), "NO")


def test_only_the_documents_of_the_selected_jobs_are_fetched(
    old: Documented, server: Scripted, client: Client, seen: list[events.Event]
) -> None:
    text = b"".join(trajectory.group_element(_work(client, seen, sample=5), "G1", layout=Layout()))
    jobs = [document["trajectory_id"] for document in json.loads(text)["trajectories"]]
    assert jobs == Selection(sample=5).drawn([f"J{n}" for n in range(60)], "G1")
    assert len(server.asked("/trajectory")) == 5


def test_jobs_of_a_download_task_are_those_of_its_group_that_fit(old: Documented, client: Client, seen: list[events.Event]) -> None:
    work = _work(client, seen, outcome=("failed",), sample=3)
    wanted = choosing.within(work, "T", ["J9", "J1", "J4", "J7", "J10"], "G1")
    assert set(wanted) <= {"J1", "J4", "J7", "J10"}
    assert len(wanted) == 3
    assert seen == [events.Noted("3 of 5 job(s) of T selected (outcome=failed sample=3 seed=T)")]
    with pytest.raises(UsageError, match="does not say of which group"):
        choosing.within(work, "T", ["J1"], None)


# ---- on the command line -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["trajectory", "download", "-j", "J1", "--outcome", "failed"], "choose among the jobs of a group: use -g"),
        (["pull", "-j", "J1", "--sample", "3"], "choose among the jobs of a group: use -g"),
        (["pull", "-g", "G1", "--outcome", "good"], "--outcome 'good' is none of passed, partial, failed, errored, ungraded"),
        (["pull", "-g", "G1", "--step", "1,x"], "--step takes whole numbers"),
        (["pull", "-g", "G1", "--sample", "0"], "--sample"),
        (["pull", "-g", "G1", "--seed", "x"], "--seed needs --sample"),
    ],
)
def test_a_selection_that_makes_no_sense_is_wrong_usage(bl: Bl, argv: list[str], words: str) -> None:
    ran = bl(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
