"""The verifier's report in the forms that it comes in, and what is no report."""

from __future__ import annotations

import pytest

from benchloop_analysis.graded import read_report
from benchloop_analysis.records import File

CTRF = (
    '{"results": {"summary": {"tests": 3, "passed": 1, "failed": 2}, '
    '"tests": [{"name": "t::a", "status": "failed"}, {"name": "t::b", "status": "passed"}]}}'
)


def report(text: str, path: str = "verifier/test-stdout.txt") -> tuple[int, int, int] | None:
    found = read_report([File(path=path, text=text)])
    return None if found is None else (found.passed, found.failed, found.total)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("=== 9 failed, 2 passed in 3.81s ===", (2, 9, 11)),
        ("=== 1 passed, 1 warning in 0.29s ===", (1, 0, 1)),
        ("=== 6 passed in 1101.12s (0:18:21) ===", (6, 0, 6)),
        ("=== 1 error in 0.2s ===", (0, 1, 1)),
        ("2 passed in 0.1s", (2, 0, 2)),
        ("=== 3 failed in 1s ===\nagain\n=== 3 passed in 1s ===", (3, 0, 3)),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=2, errors=1)", (2, 3, 5)),
        ("Ran 5 tests in 0.1s\n\nOK", (5, 0, 5)),
        ("test result: FAILED. 4 passed; 1 failed; 0 ignored", (4, 1, 5)),
        ("Tests:       1 failed, 3 passed, 4 total", (3, 1, 4)),
        ("Tests:       3 passed, 3 total", (3, 0, 3)),
        ("no tests ran in 0.01s", None),
        ("uvx: command not found", None),
        ("", None),
    ],
)
def test_the_last_line_of_a_runner(text: str, counts: tuple[int, int, int] | None) -> None:
    assert report(text) == counts


def test_ctrf_comes_before_a_printed_line() -> None:
    files = [File(path="verifier/test-stdout.txt", text="=== 9 passed in 1s ==="), File(path="verifier/ctrf.json", text=CTRF)]
    found = read_report(files)
    assert found is not None
    assert (found.path, found.passed, found.total, found.failed_names) == ("verifier/ctrf.json", 1, 3, ("t::a",))
    assert found.evidence is not None
    assert found.evidence.quote == '"summary": {"tests": 3, "passed": 1, "failed": 2}'


def test_the_report_named_ctrf_comes_first() -> None:
    other = CTRF.replace('"passed": 1, "failed": 2', '"passed": 3, "failed": 0')
    found = read_report([File(path="verifier/a-ctrf.json", text=other), File(path="verifier/ctrf.json", text=CTRF)])
    assert found is not None
    assert found.path == "verifier/ctrf.json"


def test_junit() -> None:
    xml = '<?xml version="1.0"?><testsuites tests="4" failures="1" errors="1" skipped="1"><testsuite/></testsuites>'
    assert report(xml, "verifier/junit.xml") == (1, 2, 4)


def test_swebench() -> None:
    status = '{"FAIL_TO_PASS": {"success": ["a"], "failure": ["b"]}, "PASS_TO_PASS": {"success": ["c"], "failure": []}}'
    assert report(f'{{"x-1": {{"resolved": false, "tests_status": {status}}}}}', "report.json") == (2, 1, 3)


def test_files_of_the_agent_are_no_report() -> None:
    assert report("=== 2 passed in 1s ===", "agent/log.txt") is None


@pytest.mark.parametrize(
    "text", ["{", '{"results": 1}', '{"results": {"summary": {"tests": "x"}}}', '{"results": {"summary": {"tests": 0}}}']
)
def test_a_broken_report_is_none(text: str) -> None:
    assert report(text, "verifier/ctrf.json") is None
