"""Shares of a group: several readers together read each job once, in the order of one reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchloop_client.formats.records import Rejected, RunGroup, RunJob, Share
from tests.unit.formats.harbor_dirs import groups, trajectory, write, write_job, write_trial
from tests.unit.formats.test_tau_results import record


def harbor(folder: Path) -> Path:
    write_job(folder / "run")
    for number in range(7):
        write_trial(folder / "run", f"task{number % 3}__{number:07d}")
    write(folder / "run" / "broken__1" / "config.json", b"{")
    return folder


def atif(folder: Path) -> Path:
    for number in range(7):
        write(folder / f"t{number}.json", trajectory(str(number)))
    write(folder / "t3x.json", b"{")
    return folder


def tau(folder: Path) -> Path:
    records = [record(number % 3, number // 3) for number in range(7)]
    return write(folder / "m-airline.json", [*records, {"no": "record"}, records[0]])


def seen(item: RunJob | Rejected) -> tuple[str, str]:
    return (type(item).__name__, item.source if isinstance(item, Rejected) else item.facts.trial_key)


@pytest.mark.parametrize("make", [harbor, atif, tau])
@pytest.mark.parametrize("of", [1, 2, 3])
def test_shares_together_are_all_jobs_in_order(tmp_path: Path, make: Callable[[Path], Path], of: int) -> None:
    (group,) = groups(make(tmp_path))
    parts = [item for number in range(of) for item in group.shared(Share(number, of))]
    assert [seen(item) for _, item in sorted(parts, key=lambda part: part[0])] == [seen(item) for item in group.jobs()]
    assert any(isinstance(item, Rejected) for _, item in parts) and len(parts) >= 8


def test_groups_of_several_runs_share_too(tmp_path: Path) -> None:
    harbor(tmp_path / "a")
    harbor(tmp_path / "b")
    (group,) = groups(tmp_path, group="G")
    parts = [item for number in range(2) for item in group.shared(Share(number, 2))]
    assert [seen(item) for _, item in sorted(parts, key=lambda part: part[0])] == [seen(item) for item in group.jobs()]


def test_a_reader_without_shares_is_read_whole_by_each() -> None:
    jobs = [Rejected(str(number), "no") for number in range(5)]
    group = RunGroup("G", None, lambda: iter(jobs))  # type: ignore[arg-type]
    assert [index for index, _ in group.shared(Share(1, 2))] == [1, 3]


def test_only_distinct_trial_names_make_a_single_group(tmp_path: Path) -> None:
    write_job(tmp_path / "one")
    for name in ("a__1", "b__1"):
        write_trial(tmp_path / "one", name)
    assert groups(tmp_path / "one")[0].single
    write_trial(tmp_path / "one", "a__2")
    assert not groups(tmp_path / "one")[0].single
