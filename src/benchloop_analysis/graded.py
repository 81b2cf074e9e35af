"""What the verifier's own report says: tests that passed and failed, by name, from CTRF, JUnit or the last line of a test runner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from benchloop_analysis import evidence
from benchloop_analysis.records import Evidence, File, VerifierReport

_RULE = "verifier-report"
_NAMES = 50
#: JUnit's root element stands at the beginning of the file.
_JUNIT_HEAD = 10_000
#: `==== 9 failed, 2 passed in 3.81s ====`, also without the signs around it.
_PYTEST = re.compile(
    r"^=*[ \t]*((?:\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+) in [\d.]+ ?s.*$", re.MULTILINE
)
_COUNT = re.compile(r"(\d+) (failed|passed|error)")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+^(OK|FAILED)(?: \((.*)\))?", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed;", re.MULTILINE)
_JEST = re.compile(r"^Tests:\s+(?:(\d+) failed, )?(?:\d+ \w+, )*?(?:(\d+) passed, )?(\d+) total", re.MULTILINE)
_FAILED_LINE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_JUNIT = re.compile(r"<testsuites?\b[^>]{0,2000}?\btests=\"(\d+)\"[^>]{0,2000}>")
_ATTRIBUTE = re.compile(r"\b(failures|errors|skipped)=\"(\d+)\"")


def read_report(files: Iterable[File]) -> VerifierReport | None:
    """The report of the verifier, None where no test is known to have run. A machine's report comes before a printed line."""
    listed = list(files)
    own = [file for file in listed if "verifier/" in f"/{file.path}"]
    for reports in (_ctrf(own), _swebench(listed), _junit(own), _printed(own)):
        found = next((report for report in reports if report.total > 0), None)
        if found is not None:
            return found
    return None


def _ctrf(files: list[File]) -> Iterator[VerifierReport]:
    named = [file for file in files if file.path.endswith(".json") and '"results"' in file.text[:200_000]]
    for file in sorted(named, key=lambda file: (not file.path.endswith("/ctrf.json"), file.path)):
        try:
            results = msgspec.json.decode(file.text)["results"]
            summary = results["summary"]
            total, passed, failed = (int(summary.get(key) or 0) for key in ("tests", "passed", "failed"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        names = [str(test.get("name")) for test in _dicts(results.get("tests")) if test.get("status") == "failed"]
        yield VerifierReport(
            path=file.path, passed=passed, failed=failed, total=total, failed_names=tuple(names[:_NAMES]), evidence=_summary(file)
        )


def _swebench(files: list[File]) -> Iterator[VerifierReport]:
    """SWE-bench's own report: tests that were to be mended, and tests that were to stay whole."""
    for file in files:
        if not file.path.endswith("report.json") or '"tests_status"' not in file.text:
            continue
        try:
            (status,) = (entry["tests_status"] for entry in msgspec.json.decode(file.text).values())
            passed, failed = (
                [name for group in ("FAIL_TO_PASS", "PASS_TO_PASS") for name in map(str, status[group][key])]
                for key in ("success", "failure")
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        yield VerifierReport(
            path=file.path,
            passed=len(passed),
            failed=len(failed),
            total=len(passed) + len(failed),
            failed_names=tuple(failed[:_NAMES]),
            evidence=evidence.of_file(_RULE, file, file.text.index('"tests_status"')),
        )


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _summary(file: File) -> Evidence | None:
    at = file.text.find('"summary"')
    end = file.text.find("}", at)
    return evidence.of_file(_RULE, file, at, end=end + 1) if at >= 0 and end > at else None


def _junit(files: list[File]) -> Iterator[VerifierReport]:
    for file in files:
        match = _JUNIT.search(file.text, 0, _JUNIT_HEAD) if file.path.endswith(".xml") else None
        if match is not None:
            bad = {key: int(count) for key, count in _ATTRIBUTE.findall(match.group())}
            total, failed = int(match.group(1)), bad.get("failures", 0) + bad.get("errors", 0)
            yield VerifierReport(
                path=file.path,
                passed=total - failed - bad.get("skipped", 0),
                failed=failed,
                total=total,
                evidence=evidence.of_file(_RULE, file, match.start()),
            )


def _printed(files: list[File]) -> Iterator[VerifierReport]:
    """The last line of each runner that is known."""
    for file in files:
        for pattern, read in ((_PYTEST, _of_pytest), (_UNITTEST, _of_unittest), (_CARGO, _of_cargo), (_JEST, _of_jest)):
            matches = list(pattern.finditer(file.text))
            if matches:
                passed, failed = read(matches[-1])
                names = tuple(dict.fromkeys(_FAILED_LINE.findall(file.text)))[:_NAMES]
                yield VerifierReport(
                    path=file.path,
                    passed=passed,
                    failed=failed,
                    total=passed + failed,
                    failed_names=names,
                    evidence=evidence.of_file(_RULE, file, matches[-1].start()),
                )


def _of_pytest(match: re.Match[str]) -> tuple[int, int]:
    counts = {word: int(count) for count, word in _COUNT.findall(match.group(1))}
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)


def _of_unittest(match: re.Match[str]) -> tuple[int, int]:
    bad = sum(int(count) for count in re.findall(r"(?:failures|errors)=(\d+)", match.group(3) or ""))
    return int(match.group(1)) - bad, bad


def _of_cargo(match: re.Match[str]) -> tuple[int, int]:
    return int(match.group(1)), int(match.group(2))


def _of_jest(match: re.Match[str]) -> tuple[int, int]:
    return int(match.group(2) or 0), int(match.group(1) or 0)
