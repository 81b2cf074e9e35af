"""The case that sends: a run directory pushed, against the same files written by tar and zstd."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from bench.datasets import GROUP, Dataset, Place, alternate, empty, write_run
from bench.programs import Shell, missing, quoted
from bench.ratios import Row, Sample, Targets, compared


def push(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(f) 10,000 jobs of 20 KB into an empty server, and again when nothing has changed."""
    jobs = max(20, int(10_000 * scale))
    ours, against = f"bl push, {jobs} jobs", "tar | zstd"
    if missing("tar", "zstd"):
        yield Row("f", ours, against, reason="tar or zstd is not installed")
        return
    run = write_run(Dataset("jobs", jobs, 20_000), place.fresh("run"))
    again: list[Sample] = []
    line = f"bl -q push {quoted(run)} --group {GROUP}"

    def pushed() -> Sample:
        with empty(place) as at:
            first = at.shell(line, at.server)
            again.append(at.shell(line, at.server))
            return first

    packing = Shell(place.fresh("packed"), {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    packed = f"tar -cf - -C {quoted(run)} . | zstd -q -3 -f -o run.tar.zst; sync run.tar.zst ."
    sides = alternate(rounds, pushed, lambda: packing(packed))
    shutil.rmtree(run)
    yield compared("f", ours, against, sides, Targets(6, None, 200, 300))
    yield compared("f", "bl push again, nothing changed", against, (again, sides[1]), Targets(client=200, server=300))
