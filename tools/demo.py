"""The whole of Benchloop once, as a user would do it: a server of its own, a run pushed, everything pulled back, and what it looks like.

    .venv/bin/python tools/demo.py [RUN_DIRECTORY] [--folder .demo]

Without a directory it writes a small sample run (two training steps). Everything it writes is in the folder, which is emptied first; the
server ends with the demo.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
GROUP = "demo-run"
LOG = "server.log"
EVERYTHING = "metrics,trajectory,artifacts,tasks,jobs"
START_LIMIT_S = 30
LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
COMMAND_LIMIT_S = 1800
ENDING_LIMIT_S = 10
LISTED_AT_ONCE = 6
PER_FILE = "downloaded "


class DemoFailed(Exception):
    """A step of the demo failed; the message says which and why."""


@dataclass(frozen=True)
class Server:
    """The demo's own server: where it listens, and the environment that makes `bl` talk to it."""

    address: str
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    log: Path


def main() -> int:
    """Run the demo; 0 when every step did what it should."""
    parser = argparse.ArgumentParser(description="push a run to a server of its own, pull it back, show it")
    parser.add_argument("run", nargs="?", type=Path, help="a run directory of yours; without it a sample run is written")
    parser.add_argument("--folder", type=Path, default=ROOT / ".demo", help="where everything is written; emptied first")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _on_signal)
    folder = arguments.folder.resolve()
    try:
        demonstrate(arguments.run and arguments.run.expanduser().resolve(), folder)
    except DemoFailed as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: stopped", file=sys.stderr)
        return 130
    print(f"\nThe server is stopped. The pulled files are in {_short(folder / 'pulled')}; `make serve` keeps a server running.")
    return 0


def demonstrate(source: Path | None, folder: Path) -> None:
    """A server, the push, the pull, and the server's end."""
    if source is not None and not source.exists():
        raise DemoFailed(f"there is nothing at {source}")
    if folder.exists() and any(folder.iterdir()) and not (folder / LOG).exists():
        raise DemoFailed(f"{folder} holds something else than an earlier demo; name another with --folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="benchloop-demo-") as data:
        server = start_server(Path(data), folder / LOG)
        try:
            show(server, source, folder)
        finally:
            _end(server.process)


def show(server: Server, source: Path | None, folder: Path) -> None:
    """Push, pull, and print what came of it."""
    if source is None:
        pushed = push_sample(server, folder / "runs")
    else:
        print("\nNothing leaves this machine, so --allow-secrets pushes the files without looking for keys in them.")
        pushed = push(server, [str(source), "--allow-secrets"])
    if not pushed:
        raise DemoFailed("the push named no group")
    groups = list(dict.fromkeys(str(row["group_id"]) for row in pushed))
    for group in groups:
        report(server, group)
    must(server, ["pull", "-g", ",".join(groups), "--with", EVERYTHING, "-o", str(folder / "pulled")])
    print("\nWhat is on the disk now:\n")
    print("\n".join(tree(folder / "pulled")))
    for group in groups:
        summary = json.loads(must(server, ["overview", "get", "-g", group, "--scope", "summary"]))
        print("\n" + "\n".join(overview(group, summary[0]["summary"])))
    print(f"\nAll of it came from {server.address}")
    rejected = sum(len(row["rejected"]) for row in pushed)
    if rejected:
        raise DemoFailed(f"{rejected} of the run's files or folders could not be read; the push above names them, all else was pushed")


def report(server: Server, group: str) -> None:
    """Wait for the analysis of the group, and print what it says: of the whole, and of one job that failed."""
    found = json.loads(must(server, ["report", "trigger", "-g", group, "--wait"]))[0]
    print("\n".join(distribution(found)))
    examples = [example["job_id"] for reason in found["reasons"] for sub in reason["subs"] for example in sub["examples"]]
    if examples:
        verdict = json.loads(must(server, ["report", "get", "-j", examples[0]]))[0]
        print("\n".join(evidence(verdict)))


def distribution(found: dict[str, Any]) -> Iterator[str]:
    """The pass rate both ways, and the reasons, as lines."""
    yield f"  {found['headline']}"
    for reason in found["reasons"]:
        subs = ", ".join(f"{sub['sub_fail_reason']} {sub['share']['count']}" for sub in reason["subs"])
        yield f"  {reason['fail_reason']} {reason['share']['count']}: {subs}"


def evidence(verdict: dict[str, Any]) -> Iterator[str]:
    """What is said about a job, and the first place that shows it, as lines."""
    yield f"  {verdict['fail_reason']} > {verdict['sub_fail_reason']}: {verdict['says']}"
    for place in verdict["evidence"][:1]:
        where = f"step {place['step_id']}" if place["step_id"] is not None else place["field"]
        yield f"  {where}: {place['quote'].splitlines()[0]}"


def push_sample(server: Server, runs: Path) -> list[dict[str, Any]]:
    """Write the sample runs, one directory for each training step, and push them into one group."""
    print(f"\n$ python -m benchloop_client.samples {_short(runs)}")
    command = [sys.executable, "-m", "benchloop_client.samples", str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False)
    if done.returncode != 0:
        raise DemoFailed(f"the sample runs could not be written: {done.stderr.strip()}")
    pushed: list[dict[str, Any]] = []
    for run_folder in sorted(runs.iterdir()):
        step = run_folder.name.removeprefix("step-")
        pushed += push(server, [str(run_folder), "--group", GROUP, "--step", step])
    return pushed


def push(server: Server, arguments: list[str]) -> list[dict[str, Any]]:
    """`bl push`, and the rows it printed, one a group. What could not be read is shown, and the rest goes on."""
    code, out = run(server, ["push", *arguments])
    rows: list[dict[str, Any]] = json.loads(out or "[]")
    if code not in {0, 1} or not any(row["present"] for row in rows):
        raise _failed(server, "push", code)
    for row in rows:
        words = ", ".join(f"{row[key]} {key}" for key in ("new", "updated", "unchanged"))
        print(f"  {row['group_id']}: {words}, {len(row['rejected'])} rejected")
        for rejected in row["rejected"][:LISTED_AT_ONCE]:
            print(f"    rejected {rejected['source']}: {rejected['reason']}")
    return rows


def must(server: Server, arguments: list[str]) -> str:
    """Run `bl` with these arguments and hand back its stdout. Raises `DemoFailed` unless the exit code is 0."""
    code, out = run(server, arguments)
    if code != 0:
        raise _failed(server, arguments[0], code)
    return out


def _failed(server: Server, command: str, code: int) -> DemoFailed:
    return DemoFailed(f"`bl {command}` ended with exit code {code}, see above; the server's log is {_short(server.log)}")


def run(server: Server, arguments: list[str]) -> tuple[int, str]:
    """Run `bl` with these arguments, show the command and what it says, hand back its exit code and stdout."""
    print("\n$ bl " + shlex.join(_short(part) for part in arguments), flush=True)
    command = [str(BIN / "bl"), *arguments]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, env=server.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True)
        overdue = threading.Timer(COMMAND_LIMIT_S, process.kill)
        overdue.start()
        try:
            _relay(process)
        finally:
            overdue.cancel()
            _end(process)
        out.seek(0)
        return process.returncode, out.read()


def _relay(process: subprocess.Popen[str]) -> None:
    """Show what a program says while it says it; of many files only the first ones and how many more."""
    assert process.stderr is not None
    files = 0
    for line in process.stderr:
        files += line.startswith(PER_FILE)
        if not line.startswith(PER_FILE) or files <= LISTED_AT_ONCE:
            print(line.rstrip().replace(f"{ROOT}{os.sep}", ""), flush=True)
    if files > LISTED_AT_ONCE:
        print(f"… and {files - LISTED_AT_ONCE:,} more files")
    process.wait(ENDING_LIMIT_S)


def start_server(data: Path, log: Path) -> Server:
    """A server on a free port of the loopback interface, with a fresh key that is never printed."""
    print(f"$ benchloop-server key create --name demo --data {data}")
    key = _create_key(data)
    print(f"$ benchloop-server serve --port 0 --data {data}")
    command = [str(BIN / "benchloop-server"), "serve", "--host", "127.0.0.1", "--port", "0", "--data", str(data)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=_environment())
    try:
        address = _wait_until_ready(process, log)
    except BaseException:
        _end(process)
        raise
    print(f"  it listens on {address}")
    return Server(address, _environment() | {"BENCHLOOP_HOST": address, "BENCHLOOP_API_KEY": key}, process, log)


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(ENDING_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _create_key(data: Path) -> str:
    command = [str(BIN / "benchloop-server"), "key", "create", "--name", "demo", "--data", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_LIMIT_S, env=_environment(), check=False)
    if done.returncode != 0 or not done.stdout.strip():
        raise DemoFailed(f"no key could be made: {done.stderr.strip()}")
    return done.stdout.strip()


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise DemoFailed(f"the server ended by itself:\n{_tail(log)}")
        said = LISTENING.search(log.read_text(errors="replace"))
        try:
            if said:
                direct.open(said.group(1) + "/readyz", timeout=2).close()
                return said.group(1)
        except OSError:
            pass
        time.sleep(0.05)
    raise DemoFailed(f"the server was not ready after {START_LIMIT_S} s:\n{_tail(log)}")


def tree(folder: Path) -> Iterator[str]:
    """The files under `folder` as lines, with sizes; of a long folder only the first entries and how many more."""
    for path, depth in _walk(folder, 0):
        if isinstance(path, int):
            yield "  " * depth + f"… and {path:,} more"
        elif path.is_dir():
            yield "  " * depth + path.name + "/"
        else:
            yield "  " * depth + f"{path.name}  ({path.stat().st_size:,} bytes)"


def _walk(folder: Path, depth: int) -> Iterator[tuple[Path | int, int]]:
    yield folder, depth
    entries = sorted((path for path in folder.iterdir() if not path.name.startswith(".")), key=lambda path: (path.is_dir(), path.name))
    shown = entries if len(entries) <= LISTED_AT_ONCE + 1 else entries[:LISTED_AT_ONCE]
    for path in shown:
        if path.is_dir():
            yield from _walk(path, depth + 1)
        else:
            yield path, depth + 1
    if len(shown) < len(entries):
        yield len(entries) - len(shown), depth + 1


def overview(group: str, summary: dict[str, Any]) -> Iterator[str]:
    """A group's overview as the lines of a table: a row for each training step and one for all of it."""
    heads = ["step", "jobs", *summary["outcomes"], "pass rate", "mean reward"]
    steps = [row for row in summary["steps"] if row["step"] is not None]
    rows = [heads, *([str(row["step"]), *_cells(row)] for row in steps), ["all", *_cells(summary)]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    yield f"{group}: {_present_of_expected(summary)}"
    yield ""
    for row in rows:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    errors = ", ".join(f"{error['error_type']} {error['jobs']}" for error in summary["errors"])
    yield ""
    yield f"  errors: {errors or 'none'}"
    yield f"  with trajectory: {summary['with_trajectory']}, with artifacts: {summary['with_artifacts']}"


def _cells(row: dict[str, Any]) -> list[str]:
    rate, reward = row["pass_rate"], row["reward"]["mean"]
    share = "-" if rate["value"] is None else f"{rate['value']:.0%} of {rate['denominator']}"
    return [str(row["present"]), *(str(count) for count in row["outcomes"].values()), share, "-" if reward is None else f"{reward:.3f}"]


def _present_of_expected(summary: dict[str, Any]) -> str:
    if summary["expected"] is None:
        return f"{summary['present']} jobs present"
    return f"{summary['present']} jobs present of {summary['expected']} expected"


def _environment() -> dict[str, str]:
    """This environment without settings of `bl`, of a server or of a proxy."""
    mine = ("BENCHLOOP_", "BENCHMARK_")
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(mine) and name.lower() not in proxies}
    return kept | {"BENCHLOOP_NO_UPDATE_CHECK": "1"}


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def _short(part: str | Path) -> str:
    text = str(part)
    return text.removeprefix(f"{ROOT}{os.sep}")


def _on_signal(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
