"""`benchloop-server gc` and `key create --days`, as the operator meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchloop_server import cli, settings, wiring
from benchloop_server.features.groups import editing
from benchloop_server.features.uploads.service import Intake, SingleIntake, claim_of
from tests.support.pushing import archive, sha
from tests.support.stores import job, make_group, principal, put

FILES = archive({"log.txt": b"hello"})


def run(*arguments: str) -> Result:
    """The program to its end."""
    return CliRunner().invoke(cli.main, arguments)


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A data folder with an upload that nothing names any more."""
    services = wiring.open_services(settings.load({}, data=tmp_path / "data"))
    try:
        assert run("key", "create", "--name", "x", "--data", str(tmp_path / "data")).exit_code == 0
        make_group(services)
        taking = Intake(services, principal())
        single = SingleIntake(taking, claim_of(services, "archive", sha(FILES), encoding=None, length=len(FILES)))
        single.feed(FILES)
        single.finish()
        put(services, job("j1", archive={"sha256": sha(FILES), "size": len(FILES)}))
        editing.delete(services, principal(), "g1")
    finally:
        services.db.close()
    return str(tmp_path / "data")


def test_space_is_given_back_after_the_grace_and_not_before(data: str) -> None:
    kept = run("gc", "--data", data)
    assert (kept.exit_code, kept.stdout) == (0, "")
    assert "removed 0 uploads and 0 blobs (0 bytes); 1 unused uploads are kept" in kept.stderr
    gone = run("gc", "--data", data, "--grace", "0")
    assert "removed 1 uploads and " in gone.stderr and "; 0 unused uploads" in gone.stderr
    assert [path for path in (Path(data) / "blobs").rglob("*") if path.is_file()] == []


def test_a_blob_store_of_another_database_is_one_line_and_exit_1(data: str, tmp_path: Path) -> None:
    done = run("gc", "--data", data, "--blobs", str(tmp_path / "elsewhere"), "--grace", "0")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "belong together" in done.stderr and "Traceback" not in done.stderr


def test_a_negative_grace_is_wrong_usage(data: str) -> None:
    assert run("gc", "--data", data, "--grace", "-1").exit_code == 2


def test_a_key_with_days_is_listed_with_its_end(tmp_path: Path) -> None:
    for extra in ([], ["--days", "30"]):
        assert run("key", "create", "--name", "ci", *extra, "--data", str(tmp_path)).exit_code == 0
    rows = json.loads(run("key", "list", "--data", str(tmp_path)).stdout)
    assert [row["expires_at"] is None for row in rows] == [True, False]
    assert rows[1]["expires_at"] > rows[1]["created_at"]
    assert run("key", "create", "--name", "ci", "--days", "0", "--data", str(tmp_path)).exit_code == 2
