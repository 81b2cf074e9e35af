"""How right the analysis is: scored on annotated runs, each figure beside what a trivial answer gets.

    .venv/bin/python -m bench.evaluate [--data DIR] [--only rewards,steps,engine] [--json FILE]

Data that is not there is named and left out. Exit 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench import evaluate_engine, evaluate_rewards, evaluate_steps
from bench.evaluate_data import Absent, Data
from bench.evaluate_scores import Line, table
from benchloop_analysis import ruleset
from benchloop_client.contract.version import __version__

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PARTS: dict[str, Callable[[Data], Iterator[Line]]] = {
    "rewards": evaluate_rewards.lines,
    "steps": evaluate_steps.lines,
    "engine": evaluate_engine.lines,
}


def main() -> int:
    """Score, print the table, and write it where asked; 1 when a target is missed."""
    given = _arguments()
    if not given.data.is_dir():
        _say(f"no data at {given.data}; nothing is scored")
        return 0
    data = Data(given.data)
    rows, notes = scored(data, given.only)
    page = _page(rows, notes)
    print(page)
    if given.json is not None:
        given.json.write_text(json.dumps(_report(rows, notes), indent=2, ensure_ascii=False) + "\n", "utf-8")
        given.json.with_suffix(".md").write_text(page + "\n", "utf-8")
    return int(any(row.met is False for row in rows))


def scored(data: Data, only: list[str]) -> tuple[list[Line], list[str]]:
    """The rows of the parts, and what has to be said beside them."""
    rows: list[Line] = []
    notes: list[str] = []
    for name in only:
        _say(f"{name} …")
        try:
            rows.extend(PARTS[name](data))
        except Absent as error:
            notes.append(f"Left out of {name}: {error}.")
    if "steps" in only:
        notes += _about_steps(data)
    if "engine" in only:
        notes.append(evaluate_engine.ABOUT)
        notes.append(f"Reading the tables takes {1000 * evaluate_engine.tables_seconds():.0f} ms once a process; it is not in the times.")
    return rows, notes


def _about_steps(data: Data) -> list[str]:
    try:
        return [evaluate_steps.NOT_HELD_OUT, f"How labels and AgentRx's categories meet:\n\n{evaluate_steps.mapping(data)}"]
    except Absent:
        return []


def _report(rows: list[Line], notes: list[str]) -> dict[str, Any]:
    return {
        "scored_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "benchloop": __version__,
        "ruleset_version": ruleset.default().version,
        "python": platform.python_version(),
        "rows": [row.as_json() for row in rows],
        "notes": notes,
    }


def _page(rows: list[Line], notes: list[str]) -> str:
    today = datetime.now(timezone.utc).date()
    head = f"Benchloop {__version__}, rules `{ruleset.default().version}`, {today}. Brackets hold 95 % intervals; draws are seeded."
    return "\n\n".join(["# How right the analysis is", head, table(row.cells() for row in rows), *notes])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.evaluate", description="How right the analysis is, beside trivial answers")
    parser.add_argument("--data", type=Path, default=_DATA, help="the folder of annotated runs (default: shared/data beside the checkout)")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=f"which parts, of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--json", type=Path, help="write everything to this file, and a page (.md) beside it")
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
