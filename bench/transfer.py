"""How fast and how small transfers are, side by side with public tools on the same bytes from the same server on this machine.

    .venv/bin/python -m bench.transfer [--case a,b] [--scale 0.1] [--rounds 5] [--json FILE] [--keep DIR]

Within a case the two sides take turns, each round gives one ratio, and the table shows the median of the ratios with the smallest and the
largest. Exit 1 when a row misses its target or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench import downloads, pushes, startup
from bench.datasets import Place
from bench.programs import Failed, missing, version_of
from bench.ratios import Cell, Row, table
from benchloop_client.contract.version import __version__

FAILED = "failed"
_TOOLS = ("curl", "zstd", "aria2c", "tar", "zip")
Case = Callable[[Place, float, int], Iterator[Row]]


def starting(_place: Place, _scale: float, rounds: int) -> Iterator[Row]:
    """(g) `bl --version` and `bl --help` against a bare interpreter."""
    medians = startup.measure(max(rounds, 15))
    for option, limit in startup.TARGETS.items():
        value = medians[option] / medians["bare"]
        reason = f"{medians[option]:.3f} s : {medians['bare']:.3f} s"
        yield Row("g", f"bl {option}", "python -c pass", {"wall": Cell(value, value, value, "x", limit)}, reason)


#: Case → what measures it, and how many rounds it takes unless told otherwise.
CASES: dict[str, tuple[Case, int]] = {
    "a": (downloads.artifacts, 5),
    "b": (downloads.group_document, 3),
    "c": (downloads.large_files, 5),
    "d": (downloads.slow_line, 3),
    "e": (downloads.memory_of, 1),
    "f": (pushes.push, 3),
    "g": (starting, 15),
    "h": (downloads.task_archive, 3),
}
#: Case → how both sides end equally durable.
DURABILITY = {
    "a": "neither side syncs a small file by itself; both are followed by `sync -f` of the output, within the time",
    "b": "ours syncs the file and its folder before it ends; theirs is followed by `sync` of file and folder, within the time",
    "c": "ours syncs each file and its folder before it ends; theirs is followed by `sync` of each file and folder, within the time; "
    "ours has checked the SHA-256 of each file, theirs only where the row says so",
    "d": "job by job as in a, in bulk as in b; the other side is arithmetic",
    "f": "ours ends when the server has answered, which it does when blobs, folders and database are synced; theirs as in b",
    "h": "as b",
}


def main() -> int:
    """Measure the cases, print each row as it comes and the table at the end; 1 when a target is missed."""
    given = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that servers and temporary data go away as with Ctrl-C
    began = time.monotonic()
    lacking = missing(*_TOOLS)
    _say(
        f"not installed, their rows are left out: {', '.join(lacking)}"
        if lacking
        else f"measured against {', '.join(map(version_of, _TOOLS))}"
    )
    with tempfile.TemporaryDirectory(prefix="benchloop-bench-", dir=given.dir) as scratch:
        place = Place((given.keep or Path(scratch) / "data").absolute(), Path(scratch) / "work")
        place.data.mkdir(parents=True, exist_ok=True)
        rows: list[Row] = []
        for name in given.case:
            rows += _rows(name, place, given)
            _keep(given, rows)
    print(table(rows))
    print("\n".join(_notes(given.case)))
    _say(f"scale {given.scale:g}, {time.monotonic() - began:.0f} s in all")
    return int(any(row.missed or row.ours == FAILED for row in rows))


def _keep(given: argparse.Namespace, rows: list[Row]) -> None:
    """Write what is measured so far, so that a long run that is broken off has said something."""
    if given.json is None:
        return
    report = _report(given, rows)
    given.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    given.json.with_suffix(".md").write_text(_page(report, rows, list(dict.fromkeys(row.case for row in rows))), "utf-8")


def _rows(name: str, place: Place, given: argparse.Namespace) -> Iterator[Row]:
    case, rounds = CASES[name]
    _say(f"case {name}: {(case.__doc__ or '').strip()}")
    try:
        for row in case(place, given.scale, given.rounds or rounds):
            _say(table([row]).splitlines()[-1])
            yield row
    except Failed as error:
        _say(f"case {name} failed: {error}")
        yield Row(name, FAILED, "", reason=" ".join(str(error).split())[:120])
    finally:
        shutil.rmtree(place.work, ignore_errors=True)


def _report(given: argparse.Namespace, rows: list[Row]) -> dict[str, Any]:
    return {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "benchloop": __version__,
        "python": platform.python_version(),
        "machine": {"system": platform.platform(), "cpus": os.cpu_count(), "load": os.getloadavg()[0]},
        "tools": [version_of(tool) for tool in _TOOLS if not missing(tool)],
        "scale": given.scale,
        "rows": [row.as_json() for row in rows],
    }


def _page(report: dict[str, Any], rows: list[Row], cases: list[str]) -> str:
    """The same as a page."""
    machine = report["machine"]
    return "\n".join(
        [
            f"# Transfers, {report['measured_at'][:10]}",
            "",
            (
                f"Benchloop {report['benchloop']}, Python {report['python']}, {', '.join(report['tools'])}; {machine['system']}, "
                f"{machine['cpus']} CPUs, load at the end {machine['load']:.1f}; client, server and the other side on this one machine."
            ),
            (
                f"Scale {report['scale']:g} (1: the sizes named in `bench/transfer.py`). Ratios are ours ÷ theirs, median of the rounds "
                "(smallest–largest), with the target behind; memory is the peak of all processes of a side; the last column has medians."
            ),
            "",
            table(rows),
            "",
            *_notes(cases),
            "",
        ]
    )


def _notes(cases: list[str]) -> list[str]:
    return [f"- {case}: {DURABILITY[case]}." for case in cases if case in DURABILITY]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.transfer", description="Transfers side by side with public tools")
    parser.add_argument("--case", type=_cases, default=list(CASES), help="which cases, of a to h (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="this part of the jobs and bytes")
    parser.add_argument("--rounds", type=int, help="rounds of each case")
    parser.add_argument("--json", type=Path, help="write everything measured to this file, and a page (.md) beside it")
    parser.add_argument("--keep", type=Path, help="keep the loaded servers' data here, and use what is there")
    parser.add_argument("--dir", type=Path, help="where to put temporary data (default: the system's place)")
    return parser.parse_args()


def _cases(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in CASES]:
        raise argparse.ArgumentTypeError(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
