"""The settings of a judge: off by default, never half, never in clear text over a network, and the key where it has to be only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchloop_server import settings
from benchloop_server.settings import BadSetting, JudgeSettings

KEY = "sk-canary-0123456789"
GIVEN = {"URL": "https://llm.example.com/v1", "MODEL": "m-1", "PRICE": "3,15", "KEY": KEY}


def load(tmp_path: Path, **given: str) -> Any:
    environ = {"HOME": str(tmp_path), **{f"BENCHLOOP_SERVER_JUDGE_{name}": value for name, value in given.items()}}
    return settings.load(environ)


def test_nobody_is_asked_by_default(tmp_path: Path) -> None:
    assert load(tmp_path).judge is None


def test_what_is_said_and_what_is_not(tmp_path: Path) -> None:
    found = load(tmp_path, **GIVEN).judge
    assert found == JudgeSettings(url=GIVEN["URL"], model="m-1", key=KEY, price=(3.0, 15.0), cap=1.0, votes=(3, 2))
    assert KEY not in repr(load(tmp_path, **GIVEN))
    assert load(tmp_path, **GIVEN, CAP="0.25", VOTES="5,3").judge.votes == (5, 3)
    assert (found.behaviours, load(tmp_path, **GIVEN, BEHAVIOURS="100").judge.behaviours) == (0, 100)


def test_a_worker_finds_the_same_and_who_only_computes_nothing(tmp_path: Path) -> None:
    chosen = load(tmp_path, **GIVEN, CAP="0.1", BEHAVIOURS="7")
    assert settings.load(settings.for_child(chosen, {"HOME": str(tmp_path)})).judge == chosen.judge
    left = {f"BENCHLOOP_SERVER_JUDGE_{name}": value for name, value in GIVEN.items()}
    assert KEY not in str(settings.for_hand(chosen, left)) and "BENCHLOOP_SERVER_DATA" in settings.for_hand(chosen, left)
    assert settings.load(settings.for_child(load(tmp_path), {**left, "HOME": str(tmp_path)})).judge is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost/v1", "http://[::1]:9/v1"])
def test_this_machine_may_be_asked_in_clear_text(tmp_path: Path, url: str) -> None:
    assert load(tmp_path, **{**GIVEN, "URL": url}).judge.url == url


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"URL": "http://llm.example.com/v1"}, "over https"),
        ({"URL": "http://127.0.0.1.example.com/v1"}, "over https"),
        ({"URL": "llm.example.com"}, "full address"),
        ({"URL": "ftp://llm.example.com"}, "full address"),
        ({"URL": "https://me:secret@llm.example.com/v1"}, "full address"),
        ({"URL": "https://llm.example.com:99999/v1"}, "full address"),
        ({"MODEL": ""}, "MODEL and PRICE"),
        ({"PRICE": ""}, "MODEL and PRICE"),
        ({"PRICE": "3"}, "price of the judge"),
        ({"PRICE": "-1,2"}, "price of the judge"),
        ({"CAP": "much"}, "cap of the judge"),
        ({"CAP": "inf"}, "cap of the judge"),
        ({"VOTES": "2,3"}, "votes are two numbers"),
        ({"VOTES": "1.5,1"}, "votes are two numbers"),
        ({"BEHAVIOURS": "-1"}, "number of jobs"),
    ],
)
def test_what_cannot_be_used_is_named_without_the_key(tmp_path: Path, wrong: dict[str, str], says: str) -> None:
    with pytest.raises(BadSetting, match=says) as caught:
        load(tmp_path, **{**GIVEN, **wrong})
    assert KEY not in str(caught.value) and "secret" not in str(caught.value)
