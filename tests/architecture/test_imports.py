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

#: A module, a module that it must not import, and what the rule says.
WRONG = [
    ("benchloop_client.actions", "rich", "terminal library in an action"),
    ("benchloop_client.transfer", "click", "terminal library in the transfer room"),
    ("benchloop_client.cli.commands", "urllib3", "HTTP library in a command"),
    ("benchloop_client._http", "urllib3", "another HTTP library beside the own engine"),
    ("benchloop_client.transfer", "benchloop_client.client", "transfer knows the client"),
    ("benchloop_client.transfer", "benchloop_client._http", "transfer knows HTTP"),
    ("benchloop_client.actions", "benchloop_client.cli.output", "an action knows the command line"),
    ("benchloop_client.formats", "benchloop_client._http", "a reader knows HTTP"),
    ("benchloop_client.contract.ids", "benchloop_client.errors", "the contract knows the errors of one side"),
    ("benchloop_client.actions", "benchloop_server.kit.errors", "the client knows the server"),
    ("benchloop_server.kit.errors", "benchloop_client.client", "the server knows the client"),
    ("benchloop_analysis.verdict", "benchloop_client.formats.detect", "the analysis reads runs"),
    ("benchloop_analysis.ruleset", "benchloop_server.kit.errors", "the analysis knows the server"),
    ("benchloop_analysis.events", "urllib3", "the analysis asks the network"),
    ("benchloop_server.features.groups.service", "litestar", "web framework in a service"),
    ("benchloop_server.features.groups.routes", "sqlalchemy", "SQL in routes"),
    ("benchloop_server.features.groups.repository", "benchloop_server.features.groups.service", "a repository knows its service"),
    ("benchloop_server.features.groups.service", "benchloop_server.adapters", "a feature knows an adapter"),
    ("benchloop_server.kit.errors", "benchloop_server.features.groups.service", "the kit knows a feature"),
    ("benchloop_server.http.errors", "benchloop_server.features.groups.service", "http knows a feature"),
    ("benchloop_server.pages.page", "sqlalchemy", "SQL in a page"),
    ("benchloop_server.features.groups.service", "benchloop_server.pages.page", "a feature knows a page"),
]
#: Modules that stand in no layer.
STRAY = ["benchloop_client.stray", "benchloop_server.stray"]

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


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> subprocess.CompletedProcess[str]:
    """The verdict on a copy that holds every fault at once."""
    copy = tmp_path_factory.mktemp("spoilt") / "src"
    shutil.copytree(SRC, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for importer, imported, _ in WRONG:
        with _file(copy, importer).open("a") as file:
            file.write(f"\nimport {imported}\n")
    for name in STRAY:
        _file(copy, name).write_text('"""Stray."""\n')
    return lint(copy, cache)


def _file(source: Path, module: str) -> Path:
    path = source / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_the_spoilt_copy_is_refused(spoilt: subprocess.CompletedProcess[str]) -> None:
    assert spoilt.returncode == 1


@pytest.mark.parametrize(("importer", "imported"), [fault[:2] for fault in WRONG], ids=[fault[2] for fault in WRONG])
def test_a_wrong_import_is_found(spoilt: subprocess.CompletedProcess[str], importer: str, imported: str) -> None:
    assert f"{importer} -> {imported} (l." in spoilt.stdout, spoilt.stdout + spoilt.stderr


@pytest.mark.parametrize("module", STRAY)
def test_a_module_in_no_layer_is_found(spoilt: subprocess.CompletedProcess[str], module: str) -> None:
    assert f"- {module}\n" in spoilt.stdout, spoilt.stdout + spoilt.stderr


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
