"""Imports point one way: import-linter's contracts in `pyproject.toml` hold, and each wrong import tried here breaks them."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, SRC, modules, tree

_REPOSITORY = re.compile(r"benchloop_server\.features\.(\w+)\.repository(\.|$)")

#: A file below `src`, and a line that must not stand in it.
WRONG = {
    "terminal library in an action": ("benchloop_client/actions/__init__.py", "import rich"),
    "terminal library in the transfer room": ("benchloop_client/transfer/__init__.py", "import click"),
    "HTTP library in a command": ("benchloop_client/cli/commands/__init__.py", "import urllib3"),
    "HTTP library in the client": ("benchloop_client/client.py", "import urllib3"),
    "transfer knows the client": ("benchloop_client/transfer/__init__.py", "import benchloop_client.client"),
    "transfer knows HTTP": ("benchloop_client/transfer/__init__.py", "import benchloop_client._http"),
    "an action knows the command line": ("benchloop_client/actions/__init__.py", "import benchloop_client.cli.output"),
    "a reader knows HTTP": ("benchloop_client/formats/__init__.py", "import benchloop_client._http"),
    "the contract knows the errors of one side": ("benchloop_client/contract/ids.py", "import benchloop_client.errors"),
    "the client knows the server": ("benchloop_client/actions/__init__.py", "import benchloop_server.kit.errors"),
    "the server knows the client": ("benchloop_server/kit/errors.py", "import benchloop_client.client"),
    "web framework in a service": ("benchloop_server/features/groups/service.py", "import litestar"),
    "SQL in routes": ("benchloop_server/features/groups/routes.py", "import sqlalchemy"),
    "a repository knows its service": ("benchloop_server/features/groups/repository.py", "import benchloop_server.features.groups.service"),
    "a feature knows an adapter": ("benchloop_server/features/groups/service.py", "import benchloop_server.adapters"),
    "the kit knows a feature": ("benchloop_server/kit/errors.py", "import benchloop_server.features.groups.service"),
    "http knows a feature": ("benchloop_server/http/errors.py", "import benchloop_server.features.groups.service"),
    "a module in no layer": ("benchloop_server/stray.py", ""),
    "a client module in no layer": ("benchloop_client/stray.py", ""),
}


#: The server's command line names the row of a key that it shows.
MAY_NAME_A_REPOSITORY = {"benchloop_server/cli.py"}


def foreign_repositories(source: Path) -> list[str]:
    """Modules that import a repository of a feature which is not their own."""
    found = []
    for path in modules(source):
        name = path.relative_to(source).as_posix()
        for feature in _repositories(path):
            if name not in MAY_NAME_A_REPOSITORY and not name.startswith(f"benchloop_server/features/{feature}/"):
                found.append(f"{name}: {feature}")
    return found


def _repositories(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from {found.group(1) for found in map(_REPOSITORY.match, names) if found}


def lint(source: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter with our contracts over the packages in `source`. Its exit status is the verdict."""
    command = [str(Path(sys.executable).parent / "lint-imports"), str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    environment = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "150"}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The linter's memory of files that did not change."""
    return tmp_path_factory.mktemp("cache")


def test_imports_point_one_way(cache: Path) -> None:
    done = lint(SRC, cache)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_import_is_found(fault: str, tmp_path: Path, cache: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(SRC, copy, ignore=shutil.ignore_patterns("__pycache__", "static", "templates"))
    name, line = WRONG[fault]
    with (copy / name).open("a") as file:
        file.write(f"\n{line}\n")
    done = lint(copy, cache)
    assert done.returncode == 1 and "BROKEN" in done.stdout, done.stdout + done.stderr


def test_a_repository_is_its_features_own() -> None:
    assert foreign_repositories(SRC) == []


@pytest.mark.parametrize(
    "line",
    [
        "from benchloop_server.features.jobs import repository",
        "from benchloop_server.features.jobs.repository import page",
        "import benchloop_server.features.jobs.repository",
    ],
)
def test_the_use_of_anothers_repository_is_found(tmp_path: Path, line: str) -> None:
    own, other = (tmp_path / "benchloop_server" / "features" / name for name in ("jobs", "groups"))
    for folder in (own, other):
        folder.mkdir(parents=True)
        (folder / "service.py").write_text(f"{line}\n")
    assert foreign_repositories(tmp_path) == ["benchloop_server/features/groups/service.py: jobs"]
