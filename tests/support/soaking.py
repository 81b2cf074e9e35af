"""What the seeded runs with faults share: one server with data behind a proxy that hurts, what a clean run gives, and what is looked at."""

from __future__ import annotations

import base64
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from benchloop_client.samples import write_large
from tests.support.faulty import Faulty, faulty
from tests.support.programs import Bl, Result, Server, files_below, finish, serving

#: The operations of the matrix.
OPERATIONS = ("document", "artifacts", "each", "zip", "pull", "large", "push")
_PULLED = "metrics,trajectory,artifacts,tasks,jobs,metadata"
#: What may be fetched twice besides 5 %: the distance of two checkpoints, and what was under way when it broke; of a push the two requests
#: that are under way, of 2 MiB each.
CHUNK, BUNDLE = (4 << 20) + (1 << 20), 4 << 20
_LARGE = 40_000_000
_EACH = 40


@dataclass(frozen=True)
class Reference:
    """What a run without faults leaves and how many bytes of bodies it moves."""

    tree: dict[str, bytes]
    down: int
    up: int

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.tree.values()))


@dataclass
class World:
    """A server with groups SMALL (many jobs), LARGE (one large artifact) and CHANGING, reached through `proxy`."""

    root: Path
    server: Server
    proxy: Faulty
    key: str
    run: Path
    task: str = ""
    changing_task: str = ""
    references: dict[str, Reference] = field(default_factory=dict)
    version: int = 0
    numbers: int = 0

    def client(self, *, direct: bool = False, key: str | None = None) -> Bl:
        """A client behind the proxy, or beside it."""
        return Bl(self.root / "home", self.server.origin if direct else self.proxy.origin, key or self.key)

    def command(self, operation: str, *, changing: bool = False) -> list[str]:
        """The words of an operation without where its output goes."""
        group, large, task = ("CHANGING", "CHANGING", self.changing_task) if changing else ("SMALL", "LARGE", self.task)
        return {
            "document": ["trajectory", "download", "-g", group],
            "artifacts": ["artifacts", "download", "-g", group],
            "each": ["artifacts", "download", "-j", f"@{self.root / f'{group}.ids'}"],
            "zip": ["trajectory", "download", "--task-id", task],
            "pull": ["pull", "-g", group, "--with", _PULLED],
            "large": ["artifacts", "download", "-g", large],
            "push": ["push", str(self.run), "--group", "SMALL"],
        }[operation]

    def whole(self, operation: str, out: Path, *, changing: bool = False) -> list[str]:
        """The whole command."""
        return [*self.command(operation, changing=changing), *([] if operation == "push" else ["-o", str(out)])]

    def workspace(self) -> str:
        """A key of a new workspace."""
        self.numbers += 1
        return self.server.key(f"w{self.numbers}", workspace=f"w{self.numbers}")

    def reference(self, operation: str) -> Reference:
        """What the operation gives without faults, made once."""
        if operation not in self.references:
            key = self.workspace() if operation == "push" else self.key
            out = self.root / "references" / operation
            self.proxy.arm()
            done = self.client(key=key)(*self.whole(operation, out), timeout=200)
            assert done.code == 0, done
            down, up = self.proxy.down, self.proxy.up
            tree = self.pushed(key, out) if operation == "push" else files_below(out)
            assert tree
            self.references[operation] = Reference(tree, down, up)
            shutil.rmtree(out)
        return self.references[operation]

    def pushed(self, key: str, out: Path) -> dict[str, bytes]:
        """What the workspace of this key has: every document and archive."""
        done = self.client(direct=True, key=key)("pull", "-g", "SMALL", "--with", "trajectory,artifacts", "-o", str(out), timeout=200)
        assert done.code == 0, f"{done}\nthe server said: {''.join(self.server.log[-20:])}"
        return files_below(out)

    def change(self) -> None:
        """Give CHANGING its other version."""
        self.version = 1 - self.version
        done = self.client(direct=True)("push", str(self.root / f"changing-{self.version}"), "--group", "CHANGING", timeout=200)
        assert done.code == 0, done

    def restart(self) -> None:
        """End the server as a power cut does, and start it again."""
        self.server.kill()
        self.server.start()
        self.proxy.leads_to = int(self.server.port)


@contextmanager
def world(root: Path, jobs: int, size: int) -> Iterator[World]:
    """A `World` of so many jobs of about so many bytes."""
    (root / "home").mkdir(parents=True)
    run = _write(root / "run", jobs, size)
    large = _write(root / "large", 1, 2000)
    next(large.glob("task-*/agent")).joinpath("core.bin").write_bytes(random.Random("large").randbytes(_LARGE))
    for version in range(2):
        changing = _write(root / f"changing-{version}", 60, 20_000, seed=3)
        for folder in sorted(changing.glob("task-*"))[10:40:10]:
            (folder / "agent" / "noise.bin").write_bytes(random.Random(f"{folder.name}{version}").randbytes(16_000))
            text = (folder / "agent" / "trajectory.json").read_text("utf-8")
            (folder / "agent" / "trajectory.json").write_text(text.replace("Solve", ("Solve", "Do")[version]), "utf-8")
    with serving(root / "data") as server, faulty(int(server.port)) as proxy:
        made = World(root, server, proxy, server.key(), run)
        bl = made.client(direct=True)
        for path, group in ((run, "SMALL"), (large, "LARGE"), (root / "changing-0", "CHANGING")):
            done = bl("push", str(path), "--group", group, timeout=300)
            assert done.code == 0, done
        for group, most in (("SMALL", _EACH), ("CHANGING", _EACH)):
            listed = bl("jobs", "get", "-g", group, "--all").json[0]["jobs"]
            (root / f"{group}.ids").write_text("\n".join(row["job_id"] for row in listed[:most]), "utf-8")
        made.task, made.changing_task = (bl("download-tasks", "create", "-g", group).json[0]["task_id"] for group in ("SMALL", "CHANGING"))
        yield made


def _write(out: Path, jobs: int, size: int, *, seed: int = 7) -> Path:
    """A run whose jobs also have a file that no compressor makes smaller."""
    write_large(out, jobs, size, seed=seed)
    for folder in out.glob("task-*"):
        (folder / "agent" / "noise.bin").write_bytes(random.Random(f"{seed}{folder.name}").randbytes(16_000))
    return out


def killed(process: subprocess.Popen[str]) -> Result:
    """End `bl` as a power cut does."""
    out, err = finish(process)
    return Result(-9, out, err)


def disguises(key: str) -> list[bytes]:
    """The key as it is, percent-encoded, in hex, and in base64 wherever it may begin there."""
    raw = key.encode()
    coded = [base64.b64encode(b" " * shift + raw)[4 if shift else 0 : -4] for shift in range(3)]
    return list(
        {raw, quote(key, safe="").encode(), raw.hex().encode(), *coded, *(code.translate(bytes.maketrans(b"+/", b"-_")) for code in coded)}
    )


def leaks(key: str, *texts: str, folders: tuple[Path, ...] = ()) -> list[str]:
    """Where the key shows up: in one of the texts or in a file below the folders."""
    forms = disguises(key)
    found = [text[:80] for text in texts if any(form in text.encode("utf-8", "replace") for form in forms)]
    for folder in folders:
        files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 5_000_000]
        found += [str(path) for path in files if any(form in path.read_bytes() for form in forms)]
    return found


def wrong(found: dict[str, bytes], *right: dict[str, bytes]) -> list[str]:
    """Names of files (not parts) whose content no reference has under that name."""
    whole = {name: content for name, content in found.items() if not name.endswith(".part")}
    return [name for name, content in whole.items() if all(one.get(name) != content for one in right)]


def parts(root: Path) -> list[str]:
    """Everything unfinished below `root`, hidden folders included."""
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.suffix in {".part", ".state", ".tmp"}]


def summary(result: Result) -> str:
    """The result as an assertion shows it."""
    return json.dumps({"code": result.code, "err": result.err[-1500:], "out": result.out[-500:]}, indent=1)
