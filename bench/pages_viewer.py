"""How soon a long trajectory is there in a browser, how soon any step of it, and what that costs in memory.

python -m bench.pages_viewer [--steps 20000]   needs Chromium and playwright; prints one JSON object
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.support import long_runs
from tests.support.browsing import find_chromium, launched, signed_in
from tests.support.pushing import Sent, push
from tests.support.served import Served, serving

_JUMP = """async number => {
  const begun = performance.now(), form = document.querySelector('[data-jump]');
  form.querySelector('input').value = number;
  form.requestSubmit();
  while (!document.querySelector(`#s-${number}.is-cited`)) await new Promise(done => setTimeout(done, 2));
  await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - begun;
}"""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_ROUNDS = 5


def measure(steps: int) -> dict[str, Any]:
    """First paint and jumps in milliseconds (median, worst), the renderer's memory in megabytes, server time of a window."""
    path = find_chromium()
    if path is None:
        raise SystemExit("no Chromium on this machine")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data") as served, sync_playwright() as playwright:
        document = long_runs.document("long", "g1", steps=steps)
        push(served, Sent("long", document=document))
        with launched(playwright, path) as browser, signed_in(browser, served.url, served.key()) as visit:
            return {"steps": steps, "document_bytes": len(document), **_walk(visit.page, served, steps)}


def _walk(page: Page, served: Served, steps: int) -> dict[str, Any]:
    paints = [_painted(page, served) for _ in range(_ROUNDS)]
    page.wait_for_selector(".ribbon svg", timeout=120_000)
    jumps = [page.evaluate(_JUMP, number) for number in (steps * 3 // 4, 3, steps // 2, steps, steps // 3, 9, steps * 2 // 3)]
    page.mouse.move(600, 500)
    for _ in range(60):
        page.mouse.wheel(0, 2_000)
        page.wait_for_timeout(30)
    return {"first_paint_ms": _told(paints), "jump_ms": _told(jumps), "renderer_mb": renderer_megabytes()}


def _painted(page: Page, served: Served) -> float:
    page.goto(f"{served.url}/jobs/long")
    page.wait_for_selector("html[data-viewer=ready]")
    page.wait_for_timeout(100)
    return float(page.evaluate(_PAINT))


def renderer_megabytes() -> float | None:
    """Memory of the largest renderer process on this machine; None where that cannot be seen."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"--type=renderer" in (status.parent / "cmdline").read_bytes():
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
                found.append(int(lines["VmRSS"].split()[0]) / 1000)
        except (OSError, KeyError):
            continue
    return round(max(found), 1) if found else None


def _told(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values)), "worst": round(max(values))}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    sys.stdout.write(json.dumps(measure(parser.parse_args().steps), indent=2) + "\n")


if __name__ == "__main__":
    main()
