"""Every fault of the wire, of the disk and of both programs against every transfer: one rerun ends in the bytes of a clean run.

Three seeds of each fault are in `make test`, fifty in `make soak`. A seed decides where and how often it strikes, and in which transfer.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.faulty import How, Strike
from tests.support.programs import Bl, Result, files_below, finish
from tests.support.soaking import BUNDLE, CHUNK, OPERATIONS, Reference, World, killed, leaks, parts, summary, world, wrong

# On a crowded machine the world alone takes minutes; every command has a limit of its own.
pytestmark = pytest.mark.timeout(900, func_only=True)

_QUICK, _SOAK = range(3), range(50)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """200 jobs of 20 KB."""
    with world(tmp_path_factory.mktemp("faults"), 200, 20_000) as made:
        yield made


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """400 jobs of 60 KB, so that most streams are longer than a chunk."""
    with world(tmp_path_factory.mktemp("soak"), 400, 60_000) as made:
        yield made


@dataclass
class Run:
    """One faulty try and its rerun. `items`: a fault that can only be seen when an item is complete costs that item."""

    world: World
    operation: str
    seed: int
    out: Path
    dice: random.Random
    key: str
    words: tuple[str, ...] = ()
    tries: list[Result] = field(default_factory=list)

    @property
    def reference(self) -> Reference:
        """What is right."""
        return self.world.reference(self.operation)

    @property
    def pushes(self) -> bool:
        """Whether bytes go up."""
        return self.operation == "push"

    def command(self) -> list[str]:
        """The command of both tries."""
        return self.world.whole(self.operation, self.out)

    def moved(self) -> int:
        """Bytes of bodies that have passed so far, in the direction that most go."""
        return self.world.proxy.up if self.pushes else self.world.proxy.down

    def places(self, most: int) -> list[int]:
        """Between 1 and `most` places among the bytes that a clean run moves."""
        total = self.reference.up if self.pushes else self.reference.down
        return sorted(self.dice.randrange(total) for _ in range(self.dice.randint(1, most)))

    def strikes(self, how: How, most: int = 1, **more: int) -> list[Strike]:
        """That many of one fault, in the direction that most bytes go."""
        up = self.pushes and how not in {"longer", "shorter", "refuse"}
        places = self.places(most) if up or not self.pushes else [self.dice.randrange(self.reference.down) for _ in range(most)]
        return [Strike(place, how, up, more.get("by", self.dice.randrange(1, 1 << 20))) for place in places]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The faulty try."""
        chatty = ("-v",) if self.seed % 2 else ()
        return self.world.client(key=self.key).start(*self.command(), *chatty, *words)

    def ended(self, process: subprocess.Popen[str], seconds: float = 120) -> Result:
        """Wait for it."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end: {finish(process)}") from None
        self.tries.append(Result(process.returncode, out, err))
        return self.tries[-1]


def _until_struck(run: Run, process: subprocess.Popen[str]) -> bool:
    """Wait until the proxy holds its breath; False if the program ended without."""
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if run.world.proxy.struck.wait(0.005):
            return True
    return run.world.proxy.struck.is_set()


def _client_killed(run: Run) -> None:
    run.world.proxy.arm(*run.strikes("hold"))
    process = run.start()
    if _until_struck(run, process):
        time.sleep(run.dice.choice((0, 0, 0.02, 0.2)))
        run.tries.append(killed(process))
    else:
        run.ended(process)


def _server_killed(run: Run) -> None:
    run.world.proxy.arm(*run.strikes("hold"))
    process = run.start()
    if _until_struck(run, process):
        run.world.server.kill()
        run.world.proxy.release()
        run.world.restart()
    run.ended(process)


def _armed(how: How, most: int, *words: str) -> Callable[[Run], None]:
    def strike(run: Run) -> None:
        run.world.proxy.arm(*run.strikes(how, most))
        run.ended(run.start(*words))

    return strike


def _stalled(run: Run) -> None:
    """Once, or three times within a few bytes, which uses up all retries."""
    first = run.strikes("stall")[0]
    run.world.proxy.arm(*(Strike(first.at + number, "stall", first.up) for number in range(3 if run.seed % 3 == 0 else 1)))
    run.ended(run.start("--timeout", "1.5"))


def _refused(run: Run) -> None:
    """A storm: up to a dozen requests in a row are told to wait, or not told how long."""
    storm = run.strikes("refuse")[0].at
    count = run.dice.choice((1, 3, 12))
    run.world.proxy.arm(*(Strike(storm, "refuse", by=run.dice.choice((-1, 0, 1))) for _ in range(count)))
    run.ended(run.start())


FAULTS: dict[str, Callable[[Run], None]] = {
    "client-killed": _client_killed,
    "server-killed": _server_killed,
    "reset": _armed("reset", 8),
    "truncated": _armed("cut", 8),
    "flipped": _armed("flip", 2),
    "longer": _armed("longer", 3),
    "shorter": _armed("shorter", 3),
    "refused": _refused,
    "stalled": _stalled,
}


def _items(fault: str, operation: str) -> bool:
    """Whether the fault is seen only when an item is whole, so that the item comes twice however large it is."""
    return fault == "flipped" and operation == "large"


def _hold(fault: str, run: Run) -> None:
    """The faulty try, the rerun, and everything that must be true of both."""
    world, right = run.world, run.reference
    FAULTS[fault](run)
    hits = world.proxy.hits
    first = run.tries[-1]
    if not run.pushes:
        assert wrong(files_below(run.out), right.tree) == [], f"{hits} faults\n{summary(first)}"
    moved = run.moved()
    world.proxy.calm()
    done = world.client(key=run.key)(*run.command(), timeout=150)
    run.tries.append(done)
    told = f"{hits} faults\n" + "\n".join(map(summary, run.tries))
    assert done.code == 0, told
    found = world.pushed(run.key, run.out) if run.pushes else files_below(run.out)
    assert found.keys() == right.tree.keys(), told
    assert wrong(found, right.tree) == [], told
    assert parts(run.out) == [], told
    assert (
        leaks(run.key, *(text for one in run.tries for text in (one.out, one.err)), "".join(world.server.log), folders=_hidden(run)) == []
    )
    _within_budget(fault, run, moved if first.code == 0 else run.moved())


def _hidden(run: Run) -> tuple[Path, ...]:
    return (run.out / ".benchloop", run.world.root / "home")


def _within_budget(fault: str, run: Run, moved: int) -> None:
    """`moved`: bytes that passed until the command had ended well for the first time."""
    once, chunk = (run.reference.up, BUNDLE) if run.pushes else (run.reference.down, CHUNK)
    if _items(fault, run.operation):
        chunk = once
    assert moved <= once * 1.05 + chunk, f"{moved} bytes moved, a clean run moves {once}\n" + "\n".join(map(summary, run.tries))


def _operation(fault: str, seed: int, operations: tuple[str, ...] = OPERATIONS) -> str:
    return operations[(seed + list(FAULTS).index(fault) if fault in FAULTS else seed) % len(operations)]


def _cases(seeds: range) -> list[object]:
    """Each fault with each seed; the operation is part of the name, so that `-k push` runs that one only."""
    return [pytest.param(fault, seed, id=f"{fault}-{_operation(fault, seed)}-{seed}") for fault in FAULTS for seed in seeds]


def _run(world: World, fault: str, seed: int, out: Path, operations: tuple[str, ...] = OPERATIONS) -> Run:
    operation = _operation(fault, seed, operations)
    key = world.workspace() if operation == "push" else world.key
    return Run(world, operation, seed, out, random.Random(f"{fault}-{seed}"), key)


@pytest.mark.parametrize(("fault", "seed"), _cases(_QUICK))
def test_one_rerun_ends_as_a_clean_run(small: World, tmp_path: Path, fault: str, seed: int) -> None:
    _hold(fault, _run(small, fault, seed, tmp_path / "out"))


@pytest.mark.soak
@pytest.mark.parametrize(("fault", "seed"), _cases(_SOAK))
def test_soak_one_rerun_ends_as_a_clean_run(larger: World, tmp_path: Path, fault: str, seed: int) -> None:
    _hold(fault, _run(larger, fault, seed, tmp_path / "out"))


_CHANGING = ("document", "artifacts", "each", "zip", "pull")


def _changed(world: World, seed: int, out: Path) -> None:
    """Another version between the tries: nothing of both is mixed."""
    run = _run(world, "changed", seed, out, _CHANGING)
    command = world.whole(run.operation, out, changing=True)
    before = _clean(world, run.operation, out.with_name("before"))
    world.proxy.arm()
    size = sum(map(len, before.values()))
    world.proxy.arm(Strike(run.dice.randrange(max(1, size // 4)), "hold"))
    process = world.client().start(*command)
    if _until_struck(run, process):
        run.tries.append(killed(process))
    else:
        run.ended(process)
    world.proxy.calm()
    assert wrong(files_below(out), before) == []
    world.change()
    after = _clean(world, run.operation, out.with_name("after"))
    done = world.client()(*command, timeout=150)
    assert done.code == 0, summary(done)
    assert wrong(files_below(out), after) == []
    assert files_below(out).keys() == after.keys()
    assert parts(out) == []
    texts = [text for one in (*run.tries, done) for text in (one.out, one.err)]
    assert leaks(world.key, *texts, "".join(world.server.log), folders=_hidden(run)) == []


def _clean(world: World, operation: str, out: Path) -> dict[str, bytes]:
    done = world.client(direct=True)(*world.whole(operation, out, changing=True), timeout=150)
    assert done.code == 0, summary(done)
    return files_below(out)


@pytest.mark.parametrize("seed", _QUICK)
def test_another_version_between_the_tries(small: World, tmp_path: Path, seed: int) -> None:
    _changed(small, seed, tmp_path / "out")


@pytest.mark.soak
@pytest.mark.parametrize("seed", _SOAK)
def test_soak_another_version_between_the_tries(larger: World, tmp_path: Path, seed: int) -> None:
    _changed(larger, seed, tmp_path / "out")


_TO_DISK = tuple(operation for operation in OPERATIONS if operation != "push")


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[Callable[[], None] | None]:
    """A small file system at `folder`, with what makes it large enough; None where this machine does not let us."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        yield None
        return
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=400m", str(folder)], check=True) and None
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _disk_full(world: World, seed: int, folder: Path) -> None:
    run = _run(world, "disk", seed, folder / "out", _TO_DISK)
    right = run.reference
    room = 65536 + run.dice.randrange(right.size * 9 // 10)
    world.proxy.arm()
    with _disk(folder, room) as enlarge:
        if enlarge is None:
            _limited(run, world.client(), room)
        else:
            run.ended(run.start())
            enlarge()
        first = run.tries[-1]
        assert wrong(files_below(run.out), right.tree) == [], summary(first)
        if enlarge is not None:
            assert first.code == 1, summary(first)
            assert "no space left" in first.err.lower()
        done = world.client()(*run.command(), timeout=150)
        run.tries.append(done)
        assert done.code == 0, (summary(first), summary(done))
        assert wrong(files_below(run.out), right.tree) == []
        assert files_below(run.out).keys() == right.tree.keys()
        assert parts(run.out) == []
        texts = [text for one in run.tries for text in (one.out, one.err)]
        assert leaks(world.key, *texts, "".join(world.server.log), folders=_hidden(run)) == []
    _within_budget("disk", run, run.moved())


def _limited(run: Run, bl: Bl, room: int) -> None:
    """No file longer than `room`: what a user without rights can have of a full disk."""
    shell = Bl(bl.home, bl.host, bl.key, program="/bin/sh")
    run.tries.append(shell("-c", f'ulimit -f {max(1, room // 512)}; exec "$@"', "bl", bl.program, *run.command()))


@pytest.mark.parametrize("seed", _QUICK)
def test_a_full_disk(small: World, tmp_path: Path, seed: int) -> None:
    _disk_full(small, seed, tmp_path / "disk")


@pytest.mark.soak
@pytest.mark.parametrize("seed", _SOAK)
def test_soak_a_full_disk(larger: World, tmp_path: Path, seed: int) -> None:
    _disk_full(larger, seed, tmp_path / "disk")
