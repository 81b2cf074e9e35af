"""Where the look for a newer version is switched off, which variables it may see, and that both files name one project address."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchloop_client.contract.version import DISTRIBUTION, PROJECT_URL
from benchloop_client.settings import Flags, Settings, installer_variables, load
from tests.architecture.source import ROOT

tomllib = pytest.importorskip("tomllib")


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, True),
        ({"BENCHLOOP_NO_UPDATE_CHECK": ""}, True),
        ({"BENCHLOOP_NO_UPDATE_CHECK": "1"}, False),
        ({"CI": "true"}, False),
        ({"CI": "1"}, False),
        ({"CI": ""}, True),
    ],
)
def test_variables_switch_it_off(environ: dict[str, str], on: bool) -> None:
    assert load(Flags(), environ).update_check is on


def test_the_configuration_file_switches_it_off(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[profile]\nupdate_check = false\n")
    assert not load(Flags(config=str(path)), {}).update_check


def test_settings_made_by_hand_look_for_nothing() -> None:
    assert Settings().update_check is False


def test_only_what_concerns_installers_is_seen() -> None:
    environ = {"PIP_INDEX_URL": "a", "UV_INDEX": "b", "XDG_CACHE_HOME": "c", "APPDATA": "d", "BENCHLOOP_API_KEY": "e", "PATH": "f"}
    assert set(installer_variables(environ)) == {"PIP_INDEX_URL", "UV_INDEX", "XDG_CACHE_HOME", "APPDATA"}


def test_the_project_names_one_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert PROJECT_URL in project["urls"].values()
    assert project["name"] == DISTRIBUTION
