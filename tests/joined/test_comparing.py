"""The server's comparison of two groups is that of `bl diff`, which reads the same jobs one by one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from benchloop_server.features.comparing import service as comparing
from benchloop_server.features.comparing.service import Side
from benchloop_server.kit.errors import DomainError
from tests.support import stores
from tests.support.programs import Bl
from tests.support.served import Served

ME = stores.principal()


def _fill(served: Served, group_id: str, *, seed: int, better: float) -> None:
    chance = random.Random(seed)
    stores.make_group(served.services, group_id)
    rows = []
    for number in range(60):
        passed = chance.random() < better
        facts: dict[str, Any] = {
            "task_id": f"t{number % 12 + (seed if number % 12 == 11 else 0)}",
            "step": chance.choice([10, 20]),
            "status": chance.choice(["completed"] * 9 + ["running"]),
            "reward": chance.choice([1.0 if passed else 0.0, 1.0 if passed else 0.5, None]),
            "reward_valid": chance.choice([None, True, True, False]),
            "error_type": chance.choice([None, "Boom"]),
            "cost_usd": chance.choice([None, 0.25, 0.5]),
            "n_input_tokens": chance.choice([None, 100, 200]),
            "n_output_tokens": chance.choice([None, 8]),
        }
        rows.append(stores.job(f"{group_id}-{number}", **facts))
    stores.put(served.services, *rows, group_id=group_id)


@pytest.mark.parametrize(("a", "b"), [("A", "B"), ("A@10", "A@20"), ("B", "A@20")])
def test_it_says_what_bl_diff_says(served: Served, tmp_path: Path, a: str, b: str) -> None:
    served.key()
    _fill(served, "A", seed=1, better=0.3)
    _fill(served, "B", seed=2, better=0.7)
    done = Bl(tmp_path, served.url, served.key())("diff", a, b, "--format", "json")
    found = comparing.compared(served.services, ME, Side.parse(a), Side.parse(b)).diff
    said = done.json
    assert {name: getattr(found, name) for name in ("counts", "worse", "better")} == {
        "counts": said["counts"],
        "worse": tuple(said["worse"]),
        "better": tuple(said["better"]),
    }
    assert (found.passes.p_value, found.a.invalid, found.b.attempts) == (
        said["passes"]["p_value"],
        said["a"]["invalid"],
        said["b"]["attempts"],
    )
    assert [task.task_id for task in found.tasks] == [task["task_id"] for task in said["tasks"]]
    for mine, theirs in zip(found.tasks, said["tasks"], strict=True):
        assert (mine.change, mine.tie) == (theirs["change"], theirs["tie"])
        for name in ("pass_rate_delta", "reward_delta", "tokens_delta", "cost_usd_delta"):
            assert getattr(mine, name) == pytest.approx(theirs[name]), (mine.task_id, name)


def test_a_side_that_is_not_there_is_named(served: Served) -> None:
    served.key()
    _fill(served, "A", seed=1, better=0.5)
    for side, name in ((Side("none"), "none"), (Side("A", 7), "7 of group A")):
        with pytest.raises(DomainError, match=name):
            comparing.compared(served.services, ME, Side("A"), side)
