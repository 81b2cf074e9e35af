"""Reads source files for the rules in this folder: which files, and what stands in them. It judges nothing."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"


@dataclass(frozen=True)
class Function:
    """One function: `name` is `path:qualified.name`, `lines` counts from `def` to its end, `parameters` leaves out self and cls."""

    name: str
    lines: int
    parameters: int


def modules(root: Path) -> list[Path]:
    """All Python files below `root`, in one order."""
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def tracked() -> list[Path]:
    """Every file of the checkout that git knows or would take in."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def functions(root: Path) -> Iterator[Function]:
    """Every function and method below `root`."""
    for path in modules(root):
        yield from _within(tree(path), path.relative_to(root).as_posix() + ":", in_class=False)


def _within(node: ast.AST, prefix: str, *, in_class: bool) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = prefix + child.name
            yield Function(name, (child.end_lineno or child.lineno) - child.lineno + 1, _parameters(child, in_class=in_class))
            yield from _within(child, name + ".", in_class=False)
        elif isinstance(child, ast.ClassDef):
            yield from _within(child, prefix + child.name + ".", in_class=True)
        else:
            yield from _within(child, prefix, in_class=in_class)


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, *, in_class: bool) -> int:
    given = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len(given) - (in_class and given[:1] in (["self"], ["cls"]))
