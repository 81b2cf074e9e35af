"""The data that is measured on: run directories made from seeds, pushed into the data folder of a server, kept for later runs if asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import urllib3

from bench.programs import Server, Shell, client_env, quoted
from bench.ratios import Sample
from benchloop_client.contract.operations import OPERATIONS
from benchloop_client.samples import write_large

GROUP = "BENCH"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Dataset:
    """Jobs with a trajectory of `size` bytes each, or (`artifact`) with one file of `size` bytes that no compressor makes smaller."""

    name: str
    jobs: int
    size: int
    artifact: bool = False

    @property
    def folder(self) -> str:
        """A name that says all of it."""
        return f"{self.name}-{self.jobs}x{self.size}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where everything lies: generated `data`, and `work` for what commands write."""

    data: Path
    work: Path

    def fresh(self, name: str) -> Path:
        """An empty folder."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


@dataclass(frozen=True, slots=True)
class Served:
    """A running server that holds a dataset, a shell whose `bl` talks to it, and its address and key; `push` is what loading it took."""

    server: Server
    shell: Shell
    key: str
    push: Sample

    @property
    def origin(self) -> str:
        """Its address."""
        return self.server.origin

    def ids(self) -> Path:
        """A file with the id of every job of the group, one a line, in the order of the job list."""
        out = self.shell.folder / "ids.txt"
        asked = urllib3.request("GET", self.origin + OPERATIONS["group_job_ids"].url_path(group_id=GROUP), headers={"X-API-Key": self.key})
        out.write_text("".join(f"{job_id}\n" for job_id in asked.json()["job_ids"]), "ascii")
        return out


def write_run(dataset: Dataset, out: Path) -> Path:
    """The run directory of a dataset; equal numbers give equal bytes."""
    if not dataset.artifact:
        return write_large(out, dataset.jobs, dataset.size)
    write_large(out, dataset.jobs, 100)
    for number, folder in enumerate(sorted(path for path in out.iterdir() if path.is_dir())):
        (folder / "agent" / "trajectory.json").unlink()
        dice = Random(number)
        with (folder / "agent" / "output.bin").open("wb") as file:
            left = dataset.size
            while left:
                left -= file.write(dice.randbytes(min(left, _PIECE)))
    return out


@contextmanager
def served(dataset: Dataset, place: Place) -> Iterator[Served]:
    """A freshly started server that holds the dataset, pushed before unless it was kept; its worker has judged what it was to judge, unless
    that takes more than ten minutes.
    """
    data = place.data / dataset.folder
    note = place.data / f"{dataset.folder}.json"
    if not note.exists():
        note.write_text(json.dumps(asdict(_load(dataset, data, place))), "ascii")
    with _running(data, place) as (server, shell, key):
        server.settle()
        yield Served(server, shell, key, Sample(**json.loads(note.read_text("ascii"))))


@contextmanager
def empty(place: Place) -> Iterator[Served]:
    """A server without anything in it."""
    with _running(place.fresh("empty"), place) as (server, shell, key):
        yield Served(server, shell, key, Sample(0))


def _load(dataset: Dataset, data: Path, place: Place) -> Sample:
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    run = write_run(dataset, place.fresh("run"))
    try:
        with _running(data, place) as (server, shell, _):
            return shell(f"bl -q push {quoted(run)} --group {GROUP}", server)
    finally:
        shutil.rmtree(run, ignore_errors=True)


@contextmanager
def _running(data: Path, place: Place) -> Iterator[tuple[Server, Shell, str]]:
    with Server(data) as server:
        key = server.key()
        yield server, Shell(place.fresh("out"), client_env(place.work / "home", server.origin, key)), key


def alternate(rounds: int, ours: Callable[[], Sample], theirs: Callable[[], Sample]) -> tuple[list[Sample], list[Sample]]:
    """`rounds` times ours and theirs in turns, the one that begins changing each time."""
    mine: list[Sample] = []
    others: list[Sample] = []
    for number in range(rounds):
        sides = [(mine, ours), (others, theirs)]
        for results, run in sides if number % 2 == 0 else reversed(sides):
            results.append(run())
    return mine, others
