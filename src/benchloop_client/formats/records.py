"""What every reader hands over: a run, its groups, and their jobs one at a time, with the files that belong to each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchloop_client.contract.resources import GroupUpsert, JobFacts
from benchloop_client.contract.trajectory import Normal


class UnreadableRun(ValueError):
    """A path that no reader can make a run of; the message is one sentence naming the path and what was expected."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the caller knows better than the files: names that some formats keep only in a file name, and what to leave out.

    `group` replaces the group id (with `--<agent>--<model>` added where a run holds several groups), `step` is a training step,
    `reward_key` names the primary reward among several, `exclude` holds globs over a file's path inside its job. Files beyond the
    `max_…` limits are left out and named in `RunJob.notes`.
    """

    group: str | None = None
    model: str | None = None
    benchmark: str | None = None
    step: int | None = None
    reward_key: str | None = None
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = 256 * 1024 * 1024
    max_job_bytes: int = 1024 * 1024 * 1024
    max_job_files: int = 20_000


@dataclass(frozen=True, slots=True)
class RunFile:
    """One file for a job's archive. `path` is its place inside the archive: posix, relative, without `..`; `source` a file or its bytes."""

    path: str
    source: Path | bytes
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class RunMedia:
    """An image or sound that the trajectory shows; `name` is its path as the trajectory writes it."""

    name: str
    mime_type: str
    source: Path


@dataclass(frozen=True, slots=True)
class RunJob:
    """One attempt. `trajectory()` reads and normalises again unless it was read just now, so holding many jobs holds few documents; it can
    raise `InvalidTrajectory` if the file changed meanwhile. `location` says where in the run the job lies; `notes` what was
    left out of it and why, one sentence each.
    """

    facts: JobFacts
    trajectory: Callable[[], Normal] | None
    files: tuple[RunFile, ...]
    media: tuple[RunMedia, ...]
    location: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something in the run that is not taken: `source` is its place in the run, `reason` one sentence."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class JobSource:
    """The files that one job is read from, without reading them. `complete`: nothing of the job can come from anywhere else."""

    location: str
    files: tuple[RunFile, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Share:
    """Every `of`-th job from the `number`-th on (counted from 0): what one of several readers of a group takes."""

    number: int = 0
    of: int = 1

    def takes(self, index: int) -> bool:
        """Whether the job at this place is part of the share."""
        return index % self.of == self.number


#: The jobs of a share and what is rejected among them, each with its place in the group; places grow.
Shared = Callable[[Share], Iterator[tuple[int, "RunJob | Rejected"]]]


@dataclass(frozen=True, slots=True)
class RunGroup:
    """One group of a run. `jobs()` starts reading from the beginning on each call and reads one job at a time.

    `share`, where a reader has it, reads no more than it must of the jobs that others take. `single`: surely no task has two jobs.
    """

    group_id: str
    facts: GroupUpsert
    jobs: Callable[[], Iterator[RunJob | Rejected]]
    share: Shared | None = None
    single: bool = False
    #: Lists the files behind each job, for a reader that knows them before it reads them.
    sources: Callable[[], Iterator[JobSource]] | None = None

    def shared(self, share: Share) -> Iterator[tuple[int, RunJob | Rejected]]:
        """The jobs of a share with their places: several readers with the shares of one number together read each job once."""
        if self.share is not None:
            yield from self.share(share)
            return
        yield from ((index, job) for index, job in enumerate(self.jobs()) if share.takes(index))


@dataclass(frozen=True, slots=True)
class Run:
    """What was found under a path. `format` is the reader that read it: harbor, atif or tau."""

    format: str
    groups: tuple[RunGroup, ...]
