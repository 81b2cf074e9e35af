"""What it costs to look for the behaviours, beside parsing the same bytes with `json.loads`: for every trajectory of a folder of runs.

    .venv/bin/python -m bench.behaviours_speed [../shared/data] [--rounds 9] [--most 15]

Prints a line for each set of runs; exit 1 where a document costs more than `--most` times its parsing. Times are the processor's.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchloop_analysis.behaviours import observe
from benchloop_analysis.case import Case
from benchloop_analysis.records import JobInput
from tests.unit.analysis.real import RUNS, jobs


class Cost(NamedTuple):
    """One document: its bytes, and the seconds to parse it, to read its events, and to do that and look for all behaviours."""

    job_id: str
    size: int
    parse: float
    events: float
    whole: float

    @property
    def ratio(self) -> float:
        """Times the parsing."""
        return self.whole / self.parse


def costs(runs: list[JobInput], *, rounds: int) -> list[Cost]:
    """What each of the runs costs."""
    found = []
    for job in runs:
        raw = json.dumps(job.document).encode()
        parse, events, whole = _fastest((partial(json.loads, raw), partial(_read, job), partial(_look, job)), rounds)
        found.append(Cost(job.job_id, len(raw), parse, events, whole))
    return found


def _read(job: JobInput) -> None:
    assert Case(job).trajectory is not None


def _look(job: JobInput) -> None:
    observe(Case(job))


def _fastest(works: tuple[Callable[[], object], ...], rounds: int) -> tuple[float, ...]:
    """The fastest time of each, taken in turn so that a busy moment of the machine meets all of them."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for place, work in enumerate(works):
            begin = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - begin)
    return tuple(best)


def main() -> int:
    """Measure every set of runs."""
    parser = argparse.ArgumentParser(description="the cost of looking for behaviours")
    parser.add_argument("data", type=Path, nargs="?", default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--most", type=float, default=15.0)
    wish = parser.parse_args()
    worst = 0.0
    for name in RUNS:
        runs = [job for job in jobs(wish.data / name) if job.document is not None]
        if not runs:
            continue
        gc.collect()
        gc.freeze()
        found = costs(runs, rounds=wish.rounds)
        total = sum(cost.whole for cost in found) / sum(cost.parse for cost in found)
        most = max(found, key=lambda cost: cost.ratio)
        worst = max(worst, most.ratio)
        told = f"{most.ratio:.1f} x ({most.events / most.parse:.1f} x for the events, {most.size:,} B, {1e3 * most.whole:.2f} ms)"
        print(f"{name}: {len(found)} documents, {total:.1f} x json.loads in all; the worst {told} {most.job_id[-60:]}")
    return int(worst > wish.most)


if __name__ == "__main__":
    sys.exit(main())
