"""`bl retry` of reports: each Markdown file that is gone or changed comes again from where it came, and nothing else is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.joined.test_bulk_downloads import tree
from tests.support.analysing import work_off
from tests.support.inside import Inside
from tests.support.pushing import Sent, document, push
from tests.support.served import Served


@pytest.fixture
def bl(served: Served) -> Inside:
    """`bl` in this process, with a group of three jobs that were judged."""
    push(served, *(Sent(f"j{n}", document=document(f"j{n}", "g1", steps=n + 1), reward=0.0) for n in range(3)))
    work_off(served.services)
    return Inside(served.url, served.key())


@pytest.mark.parametrize("kind", ["report", "rsi"])
def test_what_is_gone_or_changed_comes_again(bl: Inside, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    assert bl(kind, "download", "-g", "g1", "-o", str(out)).code == 0
    assert bl(kind, "download", "-j", "j1", "-o", str(out)).code == 0
    whole = tree(out)
    assert {f"g1_{kind}.md", f"j1_{kind}.md", f"g1/j2_{kind}.md"} <= set(whole)
    assert bl("verify", str(out)).code == 0
    (out / f"g1_{kind}.md").unlink()
    (out / f"g1/j2_{kind}.md").write_bytes(b"# another\n")
    (out / f"j1_{kind}.md").write_bytes(whole[f"j1_{kind}.md"][:-1])
    kept = {name: (out / name).stat().st_mtime_ns for name in (f"g1/j0_{kind}.md", f"g1/j1_{kind}.md")}
    assert bl("verify", str(out)).code == 1
    done = bl("retry", str(out))
    assert done.code == 0, done
    assert tree(out) == whole
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept
    assert bl("verify", str(out)).code == 0


@pytest.mark.parametrize("kind", ["report", "rsi"])
def test_a_report_whose_job_is_gone_is_a_failure_with_its_path(bl: Inside, served: Served, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    assert bl(kind, "download", "-j", "j1", "-o", str(out)).code == 0
    (out / f"j1_{kind}.md").unlink()
    assert served.request("DELETE", "/openapi/groups/g1").status == 200
    done = bl("retry", str(out))
    assert done.code == 1, done
    assert f"j1_{kind}.md" in done.err
