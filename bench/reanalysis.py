"""A stored group is analysed again, and meanwhile: the memory of every process of the server, and how long a small request takes.

python -m bench.reanalysis DATA GROUP…      (DATA: the data folder of a server that does not run)
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

_SMALL_EVERY, _LOOK_EVERY, _BEFORE = 0.1, 1.0, 10.0
_KIB = 1024


@dataclass
class Seen:
    """What was seen: seconds of each small request, bytes resident at the peak by role, and of all processes together."""

    latencies: list[float] = field(default_factory=list)
    peaks: dict[str, int] = field(default_factory=dict)
    together: int = 0
    cpu: dict[int, float] = field(default_factory=dict)
    hands: set[int] = field(default_factory=set)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of all processes together."""
        return sum(self.cpu.values())

    def hands_cpu(self) -> list[float]:
        """Processor time of each process that computes, the busiest first."""
        return sorted((self.cpu.get(pid, 0.0) for pid in self.hands), reverse=True)

    def latency(self, share: float) -> float:
        """The quantile of the small requests, in seconds; not a number where there was none."""
        if not self.latencies:
            return math.nan
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Reanalysis:
    """One whole group analysed again."""

    jobs: int
    seconds: float
    triggered: float
    before: Seen
    seen: Seen

    def line(self) -> str:
        """The figures in a line."""
        peaks = ", ".join(f"{role} {size / 1e6:.0f} MB" for role, size in sorted(self.seen.peaks.items()))
        busy = self.seen.cpu_seconds / self.seconds
        return (
            f"{self.jobs:,} jobs in {self.seconds:.0f} s ({self.jobs / self.seconds:.0f} a second, {busy:.2f} cores busy); asking took "
            f"{self.triggered:.2f} s; peaks: {peaks}, all together {self.seen.together / 1e6:.0f} MB; {len(self.seen.latencies):,} small "
            f"requests: p50 {self.seen.latency(0.5) * 1000:.1f} ms, p99 {self.seen.latency(0.99) * 1000:.1f} ms, "
            f"slowest {self.seen.latency(1.0) * 1000:.0f} ms; before: p50 {self.before.latency(0.5) * 1000:.1f} ms, "
            f"p99 {self.before.latency(0.99) * 1000:.1f} ms; processor seconds of those that compute: "
            f"{', '.join(f'{one:.0f}' for one in self.seen.hands_cpu())}"
        )


class Asking:
    """A server that is asked over one connection."""

    def __init__(self, url: str, key: str) -> None:
        self._pool = urllib3.PoolManager(maxsize=4, retries=False, timeout=60, headers={"X-API-Key": key})
        self._url = url

    def json(self, method: str, path: str, **body: Any) -> Any:
        """The answer. Raises `RuntimeError` for any other than a success."""
        answer = self._pool.request(method, self._url + path, json=body or ({} if method == "POST" else None))
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {answer.data[:200]!r}")
        return answer.json()


def reanalysed(asking: Asking, pid: int, group_id: str, *, within: float) -> Reanalysis:
    """Have the group analysed again by the server of process `pid`, whose rules must have changed, and wait. Raises `TimeoutError`."""
    first = asking.json("GET", f"/openapi/jobs?group_id={group_id}&page=1&page_size=1")
    job_id = first["jobs"][0]["job_id"]
    with watched(asking, pid, job_id) as before:
        time.sleep(_BEFORE)
    began = time.monotonic()
    asking.json("POST", f"/openapi/groups/{group_id}/report/trigger", include_passed=True)
    triggered = time.monotonic() - began
    with watched(asking, pid, job_id) as seen:
        while asking.json("GET", f"/openapi/groups/{group_id}/rsi")["status"] != "succeeded":
            if time.monotonic() - began > within:
                raise TimeoutError(f"{group_id} was not analysed within {within:.0f} s")
            time.sleep(_LOOK_EVERY)
        seconds = time.monotonic() - began
    return Reanalysis(first["total"], seconds, triggered, before, seen)


@contextmanager
def watched(asking: Asking, pid: int, job_id: str) -> Iterator[Seen]:
    """Look at the processes each second and make a small request ten times a second, until the block ends."""
    seen, ended = Seen(), threading.Event()
    threads = [
        threading.Thread(target=_request, args=(asking, job_id, seen, ended)),
        threading.Thread(target=_look, args=(pid, seen, ended)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _request(asking: Asking, job_id: str, seen: Seen, ended: threading.Event) -> None:
    while not ended.wait(_SMALL_EVERY):
        began = time.perf_counter()
        asking.json("GET", f"/openapi/jobs/{job_id}")
        seen.latencies.append(time.perf_counter() - began)


def _look(pid: int, seen: Seen, ended: threading.Event) -> None:
    before: dict[int, float] = {}
    while not ended.wait(_LOOK_EVERY):
        sizes: dict[str, int] = {}
        together = 0
        for one, role in family(pid):
            found = _size_and_cpu(one)
            if found is None:
                continue
            size, cpu = found
            sizes[role] = max(sizes.get(role, 0), size)
            together += size
            before.setdefault(one, cpu)
            seen.cpu[one] = cpu - before[one]
            if role == "hand":
                seen.hands.add(one)
        for role, size in sizes.items():
            seen.peaks[role] = max(seen.peaks.get(role, 0), size)
        seen.together = max(seen.together, together)


def family(pid: int) -> list[tuple[int, str]]:
    """The process and all below it, each with its role: server, worker or hand. Only on Linux."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        try:
            command = Path(f"/proc/{one}/cmdline").read_bytes().decode("utf-8", "replace")
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            continue
        found.append((one, next((role for role in ("worker", "hand") if f"benchloop_server.{role}" in command), "server")))
    return found


def _size_and_cpu(pid: int) -> tuple[int, float] | None:
    """Bytes resident, and seconds of processor time; None for a process that is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        size = next(int(line.split()[1]) * _KIB for line in status.splitlines() if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return None
    return size, (int(stat[11]) + int(stat[12])) / 100


@contextmanager
def served(data: Path) -> Iterator[tuple[Asking, int]]:
    """A server over the data, with rules that no verdict there was made by, and the id of its process."""
    program = str(Path(sys.executable).parent / "benchloop-server")
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "other.yaml"
        rules.write_text(f"name: other-{time.time_ns()}\nversion: 1\nrules: []\n")
        environ = {**os.environ, "BENCHLOOP_SERVER_RULES": str(rules)}
        made = subprocess.run(
            [program, "key", "create", "--data", str(data), "--name", "bench"], env=environ, capture_output=True, text=True, check=True
        )
        command = [program, "serve", "--data", str(data), "--port", "0"]
        with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                origin = next(found.group() for line in process.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
                threading.Thread(target=process.stderr.read, daemon=True).start()
                yield Asking(origin, made.stdout.split()[0]), process.pid
            finally:
                process.terminate()


def main() -> None:
    """Print a line for each group."""
    parser = argparse.ArgumentParser(description="Analyse stored groups again and measure.")
    parser.add_argument("data", type=Path)
    parser.add_argument("groups", nargs="+")
    given = parser.parse_args()
    with served(given.data) as (asking, pid):
        for group in given.groups:
            sys.stdout.write(f"{group}: {reanalysed(asking, pid, group, within=3600).line()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
