"""Nothing grows past what one reads in one go: lines of a function and a module, parameters of a function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.architecture.source import SRC, functions, modules

LINES_OF_A_FUNCTION = 60
LONG_FUNCTION = 50
SHARE_OF_LONG_FUNCTIONS = 0.03
LINES_OF_A_MODULE = 400
PARAMETERS = 7

#: What is over a limit, with its measure. The list only shrinks: an entry may not grow, and one that is no longer needed must go.
EXCEPTIONS: dict[str, int] = {}
#: A migration is a list of tables, written once and never changed.
MIGRATIONS = "sql/migrations/versions"


def faults(root: Path, exceptions: Mapping[str, int]) -> list[str]:
    """Everything over its limit, and every exception that is not needed or not true any more."""
    over = _over(root)
    found = [f"{name} has {size}, more than its limit or its exception" for name, size in over.items() if size > exceptions.get(name, 0)]
    found += [f"{name} no longer needs its exception" for name in exceptions if name not in over]
    found += [
        f"{name} is down to {over[name]}: lower its exception" for name in exceptions if over.get(name, 0) and over[name] < exceptions[name]
    ]
    return found


def share_of_long(root: Path) -> float:
    """Which part of the functions is longer than `LONG_FUNCTION` lines."""
    lengths = [function.lines for function in functions(root)]
    return sum(length > LONG_FUNCTION for length in lengths) / max(1, len(lengths))


def _over(root: Path) -> dict[str, int]:
    over: dict[str, int] = {}
    for function in functions(root):
        if MIGRATIONS in function.name:
            continue
        if function.lines > LINES_OF_A_FUNCTION:
            over[f"{function.name} lines"] = function.lines
        if function.parameters > PARAMETERS:
            over[f"{function.name} parameters"] = function.parameters
    for path in modules(root):
        length = len(path.read_text("utf-8").splitlines())
        if length > LINES_OF_A_MODULE:
            over[f"{path.relative_to(root).as_posix()} lines"] = length
    return over


def test_nothing_is_over_its_limit() -> None:
    assert faults(SRC, EXCEPTIONS) == []


def test_long_functions_are_rare() -> None:
    assert share_of_long(SRC) <= SHARE_OF_LONG_FUNCTIONS


def _write(folder: Path, text: str) -> Path:
    (folder / "room.py").write_text(text)
    return folder


def test_a_long_function_is_found(tmp_path: Path) -> None:
    root = _write(tmp_path, "def f():\n" + "    pass\n" * 60)
    assert faults(root, {}) == ["room.py:f lines has 61, more than its limit or its exception"]
    assert share_of_long(root) == 1


def test_a_function_within_the_limit_is_not_found(tmp_path: Path) -> None:
    assert faults(_write(tmp_path, "def f():\n" + "    pass\n" * 59), {}) == []


def test_a_long_method_and_an_inner_function_are_found(tmp_path: Path) -> None:
    body = "            pass\n" * 60
    root = _write(tmp_path, f"class C:\n    def m(self):\n        def inner():\n{body}")
    assert [fault.split(" ")[0] for fault in faults(root, {})] == ["room.py:C.m", "room.py:C.m.inner"]


def test_a_long_module_is_found(tmp_path: Path) -> None:
    assert faults(_write(tmp_path, "x = 1\n" * 401), {}) == ["room.py lines has 401, more than its limit or its exception"]


def test_many_parameters_are_found_but_self_is_not_counted(tmp_path: Path) -> None:
    root = _write(tmp_path, "class C:\n    def m(self, a, b, c, d, *, e, f, g): ...\n    def n(self, a, b, c, d, *, e, f, g, h): ...\n")
    assert faults(root, {}) == ["room.py:C.n parameters has 8, more than its limit or its exception"]


def test_an_exception_may_not_grow_nor_outlive_its_need(tmp_path: Path) -> None:
    root = _write(tmp_path, "def f():\n" + "    pass\n" * 69)
    assert faults(root, {"room.py:f lines": 70}) == []
    assert faults(root, {"room.py:f lines": 65}) != []
    assert faults(root, {"room.py:f lines": 80}) != []
    assert faults(root, {"room.py:f lines": 70, "room.py:gone lines": 90}) == ["room.py:gone lines no longer needs its exception"]
