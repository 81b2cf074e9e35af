"""Whether the statistics of behaviours keep their promises: over groups whose truth is known, on shuffled real runs, and for a large group.

    .venv/bin/python -m bench.behaviours [--only alarms,coverage,unequal,power,shuffled,size] [--groups 2000] [--jobs 100000] [--json FILE]

Exit 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from bench import behaviour_groups, honesty
from bench.simulated import World
from benchloop_analysis.brm.study import Options, study
from benchloop_client.contract.version import __version__

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tau-bench"
_HEADS = ("question", "groups", "found", "target", "seconds")


@dataclass(frozen=True)
class Line:
    """One row of the table; `met` is None where nothing was promised."""

    question: str
    about: str
    found: str
    target: str
    met: bool | None
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """The row as text; a missed target says so."""
        return self.question, self.about, self.found, self.target + (" MISSED" if self.met is False else ""), f"{self.seconds:.0f}"


@dataclass(frozen=True)
class Wish:
    """How much to do."""

    groups: int
    jobs: int
    seed: int


def alarms(wish: Wish) -> Iterator[Line]:
    """False alarms at p < 0.05: 0.7 to 1.2 times the nominal rate."""
    worlds = [World(tasks, attempts) for tasks in (50, 128, 512) for attempts in (4, 8)]
    worlds += [World(64, 8, shown=-1.5), World(64, 8, confounding=2.0, spread=2.0), World(128, 4, uneven=0.0, ease=-2.0)]
    for world in worlds:
        yield _counted("false alarms", world, partial(honesty.false_alarms, world, wish.groups, seed=wish.seed), (0.035, 0.060))
    for world in (World(64, 8, kind="ratio"), World(64, 8, reward="continuous"), World(64, 4, kind="ratio", reward="continuous")):
        few = max(200, wish.groups // 4)
        yield _counted("false alarms", world, partial(honesty.false_alarms, world, few, seed=wish.seed), (0.03, 0.065))


def coverage(wish: Wish) -> Iterator[Line]:
    """95 % intervals hold the truth in 93 to 97 % of groups."""
    worlds = [World(tasks, attempts, odds=odds) for tasks in (50, 128, 512) for attempts in (4, 8) for odds in (1.0, 2.5)]
    worlds += [World(64, 8, odds=2.5, uneven=1.0), World(64, 8, odds=2.5, shown=-1.5), World(64, 8, odds=0.4), World(64, 8, odds=6.0)]
    worlds += [World(64, 8, odds=2.5, kind="ratio"), World(64, 8, odds=3.0, reward="continuous")]
    for world in worlds:
        yield _counted("95 % interval holds the truth", world, partial(honesty.coverage, world, wish.groups, seed=wish.seed), (0.93, 0.97))
    for world in (World(50, 4, odds=2.5), World(64, 8, odds=2.5)):
        few = wish.groups // 2
        named = "the same by Greenland and Robins, which is not used"
        yield _counted(named, world, partial(honesty.greenland_robins_coverage, world, few, seed=wish.seed), None)


def unequal(wish: Wish) -> Iterator[Line]:
    """Effects that are equal are called unequal in 5 % of groups, also with few attempts at a task; by the usual test far more often."""
    for world in (World(50, 4, odds=2.5), World(64, 8, odds=2.5), World(512, 4), World(10, 60, odds=2.5)):
        count = partial(honesty.unequal, world, wish.groups // 2, seed=wish.seed)
        yield _counted("equal effects called unequal", world, count, (0.03, 0.07))
    for world in (World(50, 4, odds=2.5), World(64, 8, odds=2.5)):
        count = partial(honesty.unequal, world, wish.groups // 2, seed=wish.seed, usual=True)
        yield _counted("the same by Breslow, Day and Tarone, which is not used", world, count, None)
    yield _counted(
        "unequal effects seen", (world := World(64, 8, odds=2.5, uneven=1.5)), partial(honesty.unequal, world, 300, seed=1), None
    )


def power(wish: Wish) -> Iterator[Line]:
    """Power of q ≤ 0.10 among 40 behaviours, as predicted and as the research found: 84, 50 and 25 %."""
    for world, research in ((World(64, 8, odds=2.5), "84 %"), (World(64, 8, odds=2.0), "50 %"), (World(50, 4, odds=2.5), "25 %")):
        began = time.monotonic()
        found = honesty.seen(world, max(50, wish.groups // 8), seed=wish.seed)
        says = f"q ≤ 0.10: {found.at_q}, predicted {100 * found.predicted_q:.0f} %"
        says += f"; p < 0.05: {found.at_p}, predicted {100 * found.predicted_p:.0f} %"
        says += f"; false among the found {100 * found.false:.0f} %"
        met = abs(found.at_q.value - found.predicted_q) <= 0.10 and abs(found.at_p.value - found.predicted_p) <= 0.06
        target = f"predicted ± 10 and ± 6; research {research}"
        yield Line("power", f"{world.named}, {found.at_q.of:,} groups", says, target, met, time.monotonic() - began)


def shuffled(wish: Wish) -> Iterator[Line]:
    """tau-bench with rewards shuffled within its tasks: discoveries at the nominal rate; and unshuffled: many pooled, none within."""
    if not _DATA.is_dir():
        return
    began = time.monotonic()
    found = behaviour_groups.shuffled(_DATA, rounds=max(50, wish.groups // 10), seed=wish.seed)
    low, high = found.limits
    says = f"{100 * found.rate:.1f} % of p < 0.05; {100 * found.studies_with_findings:.1f} % of shuffles have a q ≤ 0.10"
    met = low <= found.rate <= high and found.studies_with_findings <= 0.12
    yield Line(
        "false alarms",
        f"tau-bench, {found.rounds:,} shuffles, {found.tests:,} tests",
        says,
        f"{100 * low:.1f} to {100 * high:.1f} %, 12 %",
        met,
        time.monotonic() - began,
    )
    began = time.monotonic()
    summary = study(behaviour_groups.plausible_table(_DATA), Options(seed=wish.seed)).summary
    met = summary.counts.pooled_significant >= 12 and summary.counts.within_significant == 0
    about = "tau-bench, 16 plausible behaviours"
    yield Line("pooled many, within none", about, summary.sentence, "12 of 16 pooled, none within", met, time.monotonic() - began)
    summary = behaviour_groups.real_study(_DATA).summary
    yield Line("pooled many, within none", "tau-bench, the catalogue", summary.sentence, "", None, time.monotonic() - began)


def size(wish: Wish) -> Iterator[Line]:
    """A large group over 20 steps: with the default sample of each step, and over all jobs."""
    for sample in (512, None):
        began = time.monotonic()
        found = behaviour_groups.measured(wish.jobs, steps=20, sample=sample)
        says = f"study {found.study:.0f} s, table {found.table:.0f} s, {found.rows:,} rows, peak {found.peak:.0f} MB"
        named = f"{wish.jobs:,} jobs, 20 steps, {'512 a step' if sample else 'all jobs'}"
        yield Line("size", named, says, "300 s, 1,000 MB", found.study <= 300 and found.peak < 1_000, time.monotonic() - began)


PARTS: dict[str, Callable[[Wish], Iterator[Line]]] = {
    "alarms": alarms,
    "coverage": coverage,
    "unequal": unequal,
    "power": power,
    "shuffled": shuffled,
    "size": size,
}


def main() -> int:
    """Measure, print each row as it comes, then the table; 1 when a target is missed."""
    given = _arguments()
    wish = Wish(given.groups, given.jobs, given.seed)
    rows = []
    for name in given.only:
        for line in PARTS[name](wish):
            print(" | ".join(line.cells()), file=sys.stderr, flush=True)
            rows.append(line)
    page = _table(rows)
    print(page)
    if given.json is not None:
        report = {
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "benchloop": __version__,
            "python": platform.python_version(),
        }
        given.json.write_text(json.dumps({**report, "rows": [asdict(row) for row in rows]}, indent=2, ensure_ascii=False) + "\n", "utf-8")
        given.json.with_suffix(".md").write_text(page + "\n", "utf-8")
    return int(any(row.met is False for row in rows))


def _counted(question: str, world: World, count: Callable[[], honesty.Share], limits: tuple[float, float] | None) -> Line:
    began = time.monotonic()
    share = count()
    about = f"{world.named}, {share.of:,} groups"
    if limits is None:
        return Line(question, about, str(share), "", None, time.monotonic() - began)
    low, high = limits
    target = f"{100 * low:.1f} to {100 * high:.1f} %"
    return Line(question, about, str(share), target, low <= share.value <= high, time.monotonic() - began)


def _table(rows: list[Line]) -> str:
    lines = [_HEADS, tuple("---" for _ in _HEADS), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--groups", type=int, default=2_000, help="groups behind each row")
    parser.add_argument("--jobs", type=int, default=100_000, help="jobs of the large group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows there, and the table beside it")
    given = parser.parse_args()
    unknown = [name for name in given.only if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
