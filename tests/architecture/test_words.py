"""What may stand in which file: a sentence on top of each module, `print` and the environment in their one place, no registry's address."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, SRC, modules, tracked, tree

MAY_PRINT = ("benchloop_client/cli/output.py",)
MAY_READ_ENVIRONMENT = ("benchloop_client/settings.py", "benchloop_server/settings.py")
ROOMS_WITHOUT_A_NAME = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc", "base"}

#: Host names of package registries and indexes, in halves so that this file does not hold them.
REGISTRIES = tuple(
    (first + second).encode()
    for first, second in (
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("registry.npmjs", ".org"),
        ("registry.yarnpkg", ".com"),
        ("deb.debian", ".org"),
        ("proxy.golang", ".org"),
        ("static.crates", ".io"),
        ("repo.maven", ".apache.org"),
        ("rubygems", ".org"),
        ("pypi", "/simple"),
    )
)


def without_sentence(root: Path) -> list[str]:
    """Modules that do not open with a docstring that is a sentence. An empty `__init__.py` has nothing to say."""
    found = []
    for path in modules(root):
        if path.name == "__init__.py" and not path.read_text("utf-8").strip():
            continue
        first = (ast.get_docstring(tree(path)) or "").split("\n\n")[0].rstrip()
        if not first.endswith((".", "?", ":", "`")):
            found.append(_name(path, root))
    return found


def printing(root: Path, allowed: Iterable[str]) -> list[str]:
    """Places that call `print` outside the allowed files."""
    return _where(root, allowed, lambda node: isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print")


def reading_environment(root: Path, allowed: Iterable[str]) -> list[str]:
    """Places that touch `os.environ`, `os.environb` or `os.getenv`, however imported, outside the allowed files."""
    return _where(root, allowed, _is_environment)


def holding(files: Iterable[Path], words: Iterable[bytes]) -> list[str]:
    """Files that hold one of the words, with the word."""
    return [f"{path}: {word.decode()}" for path in files for word in words if word in path.read_bytes().lower()]


def _is_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    if isinstance(node, ast.Attribute):
        return node.attr in names and isinstance(node.value, ast.Name) and node.value.id == "os"
    return isinstance(node, ast.ImportFrom) and node.module == "os" and any(alias.name in names for alias in node.names)


def _where(root: Path, allowed: Iterable[str], wanted: object) -> list[str]:
    assert callable(wanted)
    found = []
    for path in modules(root):
        if _name(path, root) not in allowed:
            found += [f"{_name(path, root)}:{node.lineno}" for node in ast.walk(tree(path)) if wanted(node)]  # type: ignore[attr-defined]
    return found


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def test_each_module_says_what_it_is_for() -> None:
    assert without_sentence(SRC) == []


def test_print_stands_in_one_place() -> None:
    assert printing(SRC, MAY_PRINT) == []


def test_the_environment_is_read_in_the_settings_only() -> None:
    assert reading_environment(SRC, MAY_READ_ENVIRONMENT) == []


def test_rooms_have_names() -> None:
    assert [_name(path, SRC) for path in modules(SRC) if ROOMS_WITHOUT_A_NAME & set(path.with_suffix("").parts)] == []


def test_no_registry_is_named() -> None:
    assert holding(tracked(), REGISTRIES) == []


@pytest.mark.parametrize("name", ["uv.lock", "requirements/dev.lock"])
def test_locks_hold_no_index(name: str) -> None:
    path = ROOT / name
    assert not path.exists() or path not in tracked() or b"index-url" not in path.read_bytes()


def test_a_module_without_a_sentence_is_found(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("x = 1\n")
    (tmp_path / "half.py").write_text('"""settings"""\n')
    (tmp_path / "good.py").write_text('"""What the room is for."""\n')
    (tmp_path / "__init__.py").write_text("")
    assert without_sentence(tmp_path) == ["bare.py", "half.py"]


def test_a_print_is_found(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text("def f():\n    print(1)\n")
    assert printing(tmp_path, ()) == ["room.py:2"]
    assert printing(tmp_path, ("room.py",)) == []


@pytest.mark.parametrize("line", ["os.environ['A']", "os.getenv('A')", "from os import environ", "from os import getenv as g"])
def test_reading_the_environment_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "room.py").write_text(f"import os\n{line}\n")
    assert reading_environment(tmp_path, ()) == ["room.py:2"]


def test_a_registry_is_found(tmp_path: Path) -> None:
    named = tmp_path / "setup.cfg"
    named.write_bytes(b"index = https://" + REGISTRIES[0].upper() + b"/\n")
    assert len(holding([named], REGISTRIES)) == 1
