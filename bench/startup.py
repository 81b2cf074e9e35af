"""How long `bl --version` and `bl --help` take, as multiples of the bare interpreter's own start.

    .venv/bin/python bench/startup.py [--rounds 40]

The three commands take turns within one run, so that whatever else the machine does hits all alike; medians are compared. Exit 1 when a
ratio misses its target.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

BL = Path(sys.executable).parent / "bl"
BARE = [sys.executable, "-c", "pass"]
#: Command → the largest allowed multiple of `python -c pass`.
TARGETS = {"--version": 2.5, "--help": 5.0}


def seconds(command: list[str]) -> float:
    """Wall time of one run of `command`, its output thrown away."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(rounds: int) -> dict[str, float]:
    """Median seconds of each command; the first round only warms the file cache."""
    commands = {"bare": BARE} | {option: [str(BL), option] for option in TARGETS}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if number:
                times[name].append(taken)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Print each ratio beside its target; 1 when one is missed."""
    parser = argparse.ArgumentParser(description="Start-up time of bl against the bare interpreter")
    parser.add_argument("--rounds", type=int, default=40)
    medians = measure(parser.parse_args().rounds)
    print(f"python -c pass  {medians['bare'] * 1000:6.1f} ms  (Python {sys.version.split()[0]})")
    missed = False
    for option, target in TARGETS.items():
        ratio = medians[option] / medians["bare"]
        missed |= ratio > target
        print(f"bl {option:<12} {medians[option] * 1000:6.1f} ms  {ratio:.2f}x, target {target}x{'  MISSED' if ratio > target else ''}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
