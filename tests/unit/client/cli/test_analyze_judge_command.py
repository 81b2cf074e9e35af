"""`bl analyze` with a judge: what it tells of cost and cache, and that half of the options is wrong usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.actions.test_analyze_judge import KEY, endpoint, unsure
from tests.unit.client.cli.conftest import Bl
from tests.unit.formats.harbor_dirs import write

__all__ = ["endpoint", "unsure"]


@pytest.mark.usefixtures("unsure")
def test_the_command_tells_what_the_judge_cost(
    bl: Bl, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, run = request.getfixturevalue("endpoint"), request.getfixturevalue("unsure")
    monkeypatch.setenv("BENCHLOOP_JUDGE_KEY", KEY)
    told = ("--judge-url", f"{server.origin}/v1", "--judge-model", "m", "--judge-price", "3,15", "--config", str(tmp_path / "c.toml"))
    write(tmp_path / "c.toml", "")
    first, second = bl("analyze", str(run), *told), bl("analyze", str(run), *told)
    assert first.code == second.code == 0 and _without_cost(first.json) == _without_cost(
        json.loads(second.out.replace('"cached": true', '"cached": false'))
    )
    assert "different versions" not in first.out
    assert "judge: 1 asked, 0 from the cache; 1 refined" in first.err and "cost 0.0090 USD" in first.err
    assert first.json[0]["group"]["judge"]["cost_usd"] == pytest.approx(0.009) and second.json[0]["group"]["judge"]["cost_usd"] == 0
    assert "judge: 0 asked, 1 from the cache" in second.err and KEY not in first.out + first.err


def _without_cost(groups: Any) -> Any:
    return [{**one, "group": {**one["group"], "judge": {**one["group"]["judge"], "cost_usd": None}}} for one in groups]


@pytest.mark.parametrize(
    "argv",
    [
        ("--judge-url", "http://127.0.0.1:9"),
        ("--judge-url", "http://127.0.0.1:9", "--judge-model", "m"),
        ("--judge-model", "m"),
        ("--judge-url", "http://127.0.0.1:9", "--judge-model", "m", "--judge-price", "x"),
        ("--judge-url", "http://127.0.0.1:9", "--judge-model", "m", "--judge-price", "-1,2"),
        ("--judge-votes", "2,3"),
        ("--judge-behaviours", "5"),
        ("--judge-url", "nowhere", "--judge-model", "m", "--judge-price", "0,0"),
    ],
)
def test_half_a_judge_is_wrong_usage(bl: Bl, tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert bl("analyze", str(tmp_path), *argv).code == 2
