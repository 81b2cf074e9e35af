"""The pages hold together: links lead somewhere, what they tell to type exists, each decision is in the index."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from benchloop_client.cli.app import SUMMARIES
from tests.architecture.source import ROOT

_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_BL = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?bl ((?:-\S+ )*)([a-z-]+)", re.MULTILINE)
_MAKE = re.compile(r"(?:^\$? ?|`)make ([a-z]+)", re.MULTILINE)
_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)


def pages() -> list[Path]:
    """Every page that a person reads."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def dead_links(files: Iterable[Path]) -> list[str]:
    """Relative links to nothing."""
    found = []
    for path in files:
        for target in _LINK.findall(_FENCE.sub("", path.read_text("utf-8"))):
            if "://" not in target and not (path.parent / target).exists():
                found.append(f"{path.name}: {target}")
    return found


def unknown_commands(text: str) -> set[str]:
    """Commands of `bl` that a page tells to type and that do not exist."""
    return {name for _, name in _BL.findall(text)} - set(SUMMARIES)


def unknown_targets(text: str) -> set[str]:
    """Targets of `make` that a page names and that do not exist."""
    return set(_MAKE.findall(text)) - set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8"))) - {"PYTHON"}


def test_links_lead_somewhere() -> None:
    assert dead_links(pages()) == []


def test_commands_and_targets_exist() -> None:
    for path in pages():
        text = path.read_text("utf-8")
        assert unknown_commands(text) == set(), path.name
        assert unknown_targets(text) == set(), path.name


def test_each_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    numbers = [path.name[:4] for path in sorted(folder.glob("[0-9]*.md"))]
    assert [name for name in folder.glob("[0-9]*.md") if f"({name.name})" not in index] == []
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_a_dead_link_and_an_unknown_command_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[gone](nowhere.md) [here](page.md) [away](https://example.invalid/)\n")
    assert dead_links([page]) == ["page.md: nowhere.md"]
    assert unknown_commands("$ bl fetch -g G\nbl pull -g G\n") == {"fetch"}
    assert unknown_targets("`make demo` and `make coffee`") == {"coffee"}
