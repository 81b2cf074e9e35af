"""The cases that fetch: artifacts, group documents, large files, ZIPs, and many requests over a slow line."""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.datasets import GROUP, Dataset, Place, Served, alternate, served
from bench.latency import delayed
from bench.programs import Failed, Shell, client_env, missing, quoted
from bench.ratios import Row, Sample, Targets, compared, memory, ratio
from benchloop_client.contract.operations import OPERATIONS

_ZSTD = "Accept-Encoding: zstd"
_LATENCY = 0.05
_PIECE = 1 << 20


def artifacts(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(a) 5,000 artifacts of 20 KB, in bulk and job by job, against curl on each artifact's address."""
    against = "curl --parallel 32"
    limits = {"bulk": Targets(1.5, 2.5, 100), "job by job": Targets(5, 6, 100)}
    if missing("curl"):
        yield from (Row("a", name, against, reason="curl is not installed") for name in limits)
        return
    with served(Dataset("artifacts", max(20, int(5000 * scale)), 20_000, artifact=True), place) as at:
        ids = at.ids()
        config = _curl_config(at, ids)
        commands = {
            "bulk": f"bl -q artifacts download -g {GROUP} -o ours",
            "job by job": f"bl -q artifacts download -j @{ids} -o ours",
        }
        for name, command in commands.items():
            theirs = f"curl -s --fail --parallel --parallel-max 32 --create-dirs -K {config}"
            sides = alternate(rounds, lambda: _kept(at, command, "ours"), lambda: _kept(at, theirs, "theirs"))  # noqa: B023 - run at once
            _same_files(at.shell.folder / "ours", at.shell.folder / "theirs")
            yield compared("a", f"bl artifacts download, {name}", against, sides, limits[name])


def group_document(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(b) The group document of 10,000 jobs with 200 KB each, against curl and zstd."""
    ours, against = "bl trajectory download -g", "curl | zstd -dc"
    if missing("curl", "zstd"):
        yield Row("b", ours, against, reason="curl or zstd is not installed")
        return
    with served(Dataset("documents", max(20, int(10_000 * scale)), 200_000), place) as at:
        url = at.origin + OPERATIONS["group_trajectory"].url_path(group_id=GROUP)
        theirs = f"mkdir -p theirs; {_curl(at)} -H '{_ZSTD}' {url} | zstd -dcq > theirs/trajectory.json; sync theirs/trajectory.json theirs"
        mine = f"bl -q --no-pretty trajectory download -g {GROUP} -o ours"
        sides = alternate(rounds, lambda: _emptied(at, mine, "ours"), lambda: _emptied(at, theirs, "theirs"))
        _same_text(at.shell.folder / "ours" / GROUP / "trajectory.json", at.shell.folder / "theirs" / "trajectory.json")
        yield compared("b", ours, against, sides, Targets(1.3, 1.5, 100, 300))


def large_files(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(c) Four files of 250 MB, against curl -Z and aria2c -x4; both as they are, and with the SHA-256 that ours checks and notes."""
    ours = "bl artifacts download, 4 × 250 MB"
    tools = [tool for tool in ("curl", "aria2c") if not missing(tool)]
    if not tools:
        yield Row("c", ours, "curl -Z, aria2c -x4", reason="neither curl nor aria2c is installed")
        return
    with served(Dataset("large", 4, int(250_000_000 * scale), artifact=True), place) as at:
        ids = at.ids()
        synced = "find theirs -type f -print0 | xargs -0 sync; sync theirs"
        fetched = f"curl -s --fail -Z --create-dirs -K {_curl_config(at, ids)}"
        aria = f"aria2c -q -x4 -s4 -j4 --file-allocation=none --allow-overwrite=true -i {_aria_list(at, ids)}"
        hashed = "find theirs -type f -print0 | xargs -0 openssl dgst -sha256 > sums"
        lines = {
            "curl -Z": (fetched, "curl"),
            "curl -Z, then openssl dgst -sha256": (f"{fetched}; {hashed}", "openssl"),
            "aria2c -x4 -j4": (aria, "aria2c"),
            "aria2c -x4 -j4, then openssl dgst -sha256": (f"{aria}; {hashed}", "openssl"),
        }
        for name, (line, tool) in lines.items():
            if missing(tool, name.partition(" ")[0]):
                yield Row("c", ours, name, reason=f"{tool} is not installed")
                continue
            sides = alternate(
                rounds,
                lambda: _emptied(at, f"bl -q artifacts download -g {GROUP} -o ours", "ours"),
                lambda: _emptied(at, f"{line}; {synced}", "theirs"),  # noqa: B023 - run at once
            )
            _same_files(at.shell.folder / "ours", at.shell.folder / "theirs")
            yield compared("c", ours, name, sides, Targets(1.1, 1.5, 100))


def slow_line(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(d) 2,000 jobs with 50 ms for each answer, against what the latency alone takes, and in bulk."""
    with served(Dataset("small", max(40, int(2000 * scale)), 20_000), place) as at, delayed(at.origin, _LATENCY) as origin:
        ids = at.ids()
        jobs = len(ids.read_text("ascii").split())
        shell = Shell(at.shell.folder, client_env(at.shell.folder / "home", origin, at.key))
        whole = f"bl -q trajectory download -g {GROUP} -o ours"
        for width in (8, 32):
            each = f"bl -q --concurrency {width} trajectory download -j @{ids} -o ours; sync -f ours"
            yield _over_line(at, shell, f"job by job, {width} at once", each, Targets(1.2), (jobs, width, rounds))
        yield _over_line(at, shell, "bulk", whole, Targets(0.1), (jobs, 8, rounds))


def _over_line(at: Served, shell: Shell, name: str, line: str, targets: Targets, how: tuple[int, int, int]) -> Row:
    """A row against what `how` (jobs, requests at once, rounds) takes by the latency alone."""
    jobs, width, rounds = how
    bound = [Sample(jobs / width * _LATENCY)] * rounds
    ours = [_emptied(at, line, "ours", shell) for _ in range(rounds)]
    row = compared("d", f"bl trajectory download, {name}", f"{jobs} ÷ {width} × 50 ms", (ours, bound), targets)
    taken = statistics.median([one.cpu + one.server_cpu for one in ours])
    return replace(row, reason=f"{row.reason}; CPU of both sides {taken:.1f} s")


def task_archive(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(h) The documented ZIP of a download task of 10,000 jobs, against curl and zip -1."""
    ours, against = "bl trajectory download --task-id", "curl | zstd -dc | zip -1"
    if missing("curl", "zstd", "zip"):
        yield Row("h", ours, against, reason="curl, zstd or zip is not installed")
        return
    with served(Dataset("jobs", max(20, int(10_000 * scale)), 20_000), place) as at:
        at.shell(f"bl download-tasks create -g {GROUP} > task.json")
        task = json.loads((at.shell.folder / "task.json").read_text("utf-8"))
        task_id = (task[0] if isinstance(task, list) else task)["task_id"]
        url = at.origin + OPERATIONS["group_trajectory_lines"].url_path(group_id=GROUP)
        theirs = f"mkdir -p theirs; {_curl(at)} -H '{_ZSTD}' {url} | zstd -dcq | zip -1 -q theirs/lines.zip -; sync theirs/lines.zip theirs"
        mine = f"bl -q --no-pretty trajectory download --task-id {task_id} -o ours"
        sides = alternate(rounds, lambda: _emptied(at, mine, "ours"), lambda: _emptied(at, theirs, "theirs"))
        yield compared("h", ours, against, sides, Targets(1.5, 1.5, 150))


def memory_of(place: Place, scale: float, rounds: int) -> Iterator[Row]:
    """(e) Peak memory of both sides at 1,000, 10,000 and 100,000 jobs of 20 KB, while they are pushed and fetched."""
    before: dict[str, Sample] = {}
    for number in (1000, 10_000, 100_000):
        jobs = max(20, int(number * scale))
        with served(Dataset("jobs", jobs, 20_000), place) as at:
            fetched = _emptied(at, f"bl -q --no-pretty trajectory download -g {GROUP} -o ours", "ours")
            shutil.rmtree(at.shell.folder / "ours")
            for name, sample, targets in (
                ("push", at.push, Targets(client=200)),
                ("trajectory download -g", fetched, Targets(client=100, server=300)),
            ):
                yield Row("e", f"bl {name}, {jobs} jobs", "", memory((sample,), targets), f"{sample.wall:.1f} s", {"ours": (sample,)})
                if number == 100_000 and name in before:
                    yield _growth(name, sample, before[name])
                before[name] = sample


def _growth(name: str, large: Sample, small: Sample) -> Row:
    """How much memory grew with ten times the jobs."""
    cells = {"client": ratio([large.peak], [small.peak], 1.2), "server": ratio([large.server_peak], [small.server_peak], 1.2)}
    return Row("e", f"bl {name}, ten times the jobs", "memory of a tenth", {"client": cells["client"], "server": cells["server"]})


def _emptied(at: Served, line: str, folder: str, shell: Shell | None = None) -> Sample:
    """One run that writes into a folder which is not there yet."""
    shutil.rmtree(at.shell.folder / folder, ignore_errors=True)
    return (shell or at.shell)(line, at.server)


def _kept(at: Served, line: str, folder: str) -> Sample:
    """As `_emptied`, and the file system synced within the time: neither side syncs every small file by itself."""
    return _emptied(at, f"{line}; sync -f {folder}", folder)


def _curl(at: Served) -> str:
    """curl with the key in a file, so that no list of processes shows it."""
    header = at.shell.folder / "header.txt"
    header.write_text(f"X-API-Key: {at.key}\n", "ascii")
    return quoted("curl", "-s", "--fail", "-H", f"@{header}")


def _artifact_urls(at: Served, ids: Path) -> Iterator[tuple[str, str]]:
    for job_id in ids.read_text("ascii").split():
        path = OPERATIONS["job_artifact_bytes"].url_path(job_id=job_id)
        yield at.origin + path, f"theirs/{GROUP}/{job_id}/{job_id}.tgz"


def _curl_config(at: Served, ids: Path) -> Path:
    config = at.shell.folder / "curl.txt"
    blocks = [f'url = "{url}"\noutput = "{out}"\n' for url, out in _artifact_urls(at, ids)]
    config.write_text(f'header = "X-API-Key: {at.key}"\n' + "".join(blocks), "ascii")
    return config


def _aria_list(at: Served, ids: Path) -> Path:
    listed = at.shell.folder / "aria.txt"
    listed.write_text("".join(f"{url}\n  out={out}\n  header=X-API-Key: {at.key}\n" for url, out in _artifact_urls(at, ids)), "ascii")
    return listed


def _same_files(ours: Path, theirs: Path) -> None:
    """Raise `Failed` unless both sides hold the same files with the same bytes."""
    found = [{_digest(path) for path in root.rglob("*.tgz")} for root in (ours, theirs)]
    if found[0] != found[1] or not found[0]:
        raise Failed(f"not the same bytes: {len(found[0])} files here, {len(found[1])} there, {len(found[0] & found[1])} equal")


def _same_text(ours: Path, theirs: Path) -> None:
    """Raise `Failed` unless both files hold the same JSON text."""
    sizes = [path.stat().st_size for path in (ours, theirs)]
    if abs(sizes[0] - sizes[1]) > 1:
        raise Failed(f"not the same document: {sizes[0]} and {sizes[1]} bytes")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
