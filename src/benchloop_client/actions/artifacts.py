"""Artifacts of groups, jobs or a download task as files: each with its own bytes, whole and checked, or a failure with its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchloop_client import paging
from benchloop_client.actions import artifact_bytes, bulk_artifacts
from benchloop_client.actions import artifact_lists as lists
from benchloop_client.actions.artifact_lists import Artifact, Choice, Source
from benchloop_client.actions.choosing import choose
from benchloop_client.actions.destination import Content, Destination
from benchloop_client.actions.events import Counter, Downloaded, Filtered, Noted, Skipped, Warned
from benchloop_client.actions.lasting import Lasting, worth
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.work import Counted, Work, moving, placed, told
from benchloop_client.client import Span, Stream
from benchloop_client.contract.ids import BadId, encoded, file_name
from benchloop_client.errors import ApiError, BenchloopError, IntegrityError, LocalError, NetworkError, NotFound
from benchloop_client.transfer.files import Expect
from benchloop_client.transfer.pool import FATAL

_ENDS_ALL: tuple[type[BaseException], ...] = (*FATAL, NetworkError)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a job's files go: the names of the folders, and whether names are written as task downloads write them."""

    folders: tuple[str, ...]
    task: bool = False

    def of(self, job_id: str, name: str) -> str:
        """The path of an artifact."""
        if self.task:
            return "/".join((*map(file_name, self.folders), f"{encoded(job_id)}.tgz"))
        return "/".join(map(file_name, (*self.folders, job_id, name)))

    def of_member(self, job_id: str, path: str) -> str:
        """The path of a file out of the job's archive."""
        job = encoded(job_id) if self.task else file_name(job_id)
        return "/".join((*map(file_name, self.folders), job, *map(file_name, path.split("/"))))


def download(work: Work, source: Source, destination: Destination, *, choice: Choice) -> Report:
    """Write `<group>/<job>/<name>`, `<job>/<name>` or `<task>/<job>.tgz`; with `choice.member` the chosen files inside them instead."""
    if source.task is not None:
        return _download_task(work, source.task, destination, choice)
    if source.jobs:
        return _download_jobs(work, source.jobs, destination, choice)
    return Report.of_all([download_group(work, group_id, destination, choice=choice) for group_id in source.groups])


def download_group(
    work: Work, group_id: str, destination: Destination, *, choice: Choice, jobs: Callable[[], Iterable[str]] | None = None
) -> Report:
    """Write `<group>/<job>/<name>` of each job: from one stream where the server has that and most of the artifacts are wanted.

    `jobs` gives the ids of the group's jobs where others need them too; then the counter has no lines of its own.
    """
    count = partial(_counted, work, group_id, quiet=jobs is not None)
    fetch = _Fetch(work, destination, choice, _Place((group_id,)))
    each = partial(_each_job, work, fetch)
    bulk: list[Report | None] = []
    in_bulk = partial(bulk_artifacts.group, work, destination=destination, choice=choice, count=count, each=each)
    report = work.in_turn([group_id], lambda group: bulk.append(in_bulk(group)))
    if not report.ok:
        return report
    if bulk[-1] is not None:
        return bulk[-1]
    found: dict[str, list[Artifact] | None] = {}
    report = work.in_turn([group_id], lambda group: found.update(_jobs_of(work, group, choice, jobs)))
    if not report.ok:
        return report
    return _collected(work, found, lambda job_id: fetch.job(job_id, found[job_id]), count(len(found)))


def _each_job(work: Work, fetch: _Fetch, jobs: Iterable[str], count: Counted) -> Report:
    return _collected(work, jobs, lambda job_id: fetch.job(job_id, None), count)


def _counted(work: Work, group_id: str, total: int, *, quiet: bool) -> Counted:
    return Counted(Counter(work.watch, f"group artifact jobs {group_id}", "jobs", total, quiet=quiet), "processed")


def download_job(work: Work, job_id: str, destination: Destination, *, choice: Choice) -> list[Failure]:
    """Write `<job>/<name>`; returns the failures."""
    return _Fetch(work, destination, choice, _Place(())).job(job_id, None)


def _jobs_of(work: Work, group_id: str, choice: Choice, jobs: Callable[[], Iterable[str]] | None) -> dict[str, list[Artifact] | None]:
    """The jobs of a group with their artifacts, None where those have still to be listed."""
    chosen = choose(work, group_id) if work.selection else None
    if work.client.server_version() is None or choice.member is not None or (chosen is not None and not chosen.mostly):
        return dict.fromkeys(jobs() if jobs is not None else lists.known_jobs(work, group_id))
    found: dict[str, list[Artifact]] = {}
    for row in paging.all_group_artifacts(work.client, group_id):
        job_id = row.get("job_id")
        if not isinstance(job_id, str) or not job_id:
            raise ApiError(200, f"a row in the artifact list of {group_id} has no job_id")
        found.setdefault(job_id, []).append(lists.from_row(job_id, row))
    wanted = list(found) if chosen is None else [job_id for job_id in chosen.jobs if job_id in found]
    _tell_absent(work, group_id, len(wanted), of=bulk_artifacts.present(work, group_id) if chosen is None else len(chosen.jobs))
    return {job_id: lists.with_links(found[job_id]) for job_id in wanted}


def _tell_absent(work: Work, group_id: str, having: int, *, of: int) -> None:
    """Say how many jobs are not in the list of artifacts, which has only jobs with some."""
    if of > having:
        work.watch(Noted(f"{of - having} of {of} job(s) in {group_id} have no artifact"))


def _is_ours(work: Work) -> bool:
    """Whether the server is one of ours. Where none can be reached, every job is to say so by itself."""
    try:
        return work.client.server_version() is not None
    except NetworkError:
        return False


def _download_jobs(work: Work, jobs: Sequence[str], destination: Destination, choice: Choice) -> Report:
    fetch = _Fetch(work, destination, choice, _Place(()))
    if choice.member is not None:
        count = Counted(Counter(work.watch, "job artifact files", "jobs", len(jobs)), "processed")
        return _collected(work, jobs, lambda job_id: fetch.job(job_id, None), count)
    if choice.everything and not destination.rehearsing and _is_ours(work):
        # A job of our server has one archive, and its version says what is in it: a list of it would only double the requests.
        archives = Counted(Counter(work.watch, "job artifact downloads", "jobs", len(jobs)), "processed")
        return _collected(work, jobs, fetch.archive, archives)
    listing = Counted(Counter(work.watch, "job artifact listings", "jobs", len(jobs)), "listed")
    pieces: list[_Piece] = []
    failures: list[Failure] = []
    for result in work.results(jobs, partial(lists.of_job, work), ordered=True):
        if isinstance(result.error, BenchloopError):
            failures.append(Failure(result.item, result.error))
        pieces += [_Piece(artifact, tuple(result.value or ())) for artifact in result.value or ()]
        listing.ended(result.item, None, failed=result.error is not None)
    to_fetch = sum(bool(piece.artifact.url) and choice.takes(piece.artifact.name) for piece in pieces)
    label = "job artifacts" if len(jobs) == 1 else "job artifact downloads"
    counter = Counter(work.watch, label, "artifacts", to_fetch, timed=len(jobs) == 1)
    for fetched in work.results(pieces, lambda piece: fetch.artifact(piece.artifact, piece.siblings), ordered=True):
        if isinstance(fetched.error, BenchloopError):
            failures.append(Failure(f"{fetched.item.artifact.job_id}:{fetched.item.artifact.name}", fetched.error))
        if fetched.item.artifact.url and choice.takes(fetched.item.artifact.name):
            counter.step("failed" if fetched.error else "downloaded", str(fetched.value or fetched.item.artifact.name))
    return Report(len(jobs) - len({failure.label.partition(":")[0] for failure in failures}), tuple(failures))


@dataclass(frozen=True, slots=True)
class _Piece:
    """One artifact to fetch, and all that are listed for its job."""

    artifact: Artifact
    siblings: tuple[Artifact, ...]


def _download_task(work: Work, task_id: str, destination: Destination, choice: Choice) -> Report:
    jobs: list[str] = []
    report = work.in_turn([task_id], lambda task: jobs.extend(lists.task_jobs(work, task)[1]))
    if not report.ok:
        return report
    count = Counted(Counter(work.watch, f"task artifact jobs {task_id}", "jobs", len(jobs), timed=True), "processed")
    fetch = _Fetch(work, destination, choice, _Place((task_id,), task=True))

    def each(some: Iterable[str], counted: Counted) -> Report:
        return _collected(work, some, fetch.task_job, counted)

    bulk: list[Report | None] = []
    in_bulk = partial(bulk_artifacts.task, work, jobs=jobs, destination=destination, choice=choice, counted=count, each=each)
    report = work.in_turn([task_id], lambda task: bulk.append(in_bulk(task)))
    if not report.ok:
        return report
    return bulk[-1] if bulk[-1] is not None else each(jobs, count)


def _collected(work: Work, jobs: Iterable[str], task: Callable[[str], list[Failure]], count: Counted | None) -> Report:
    """Run `task` for each job; what it returns and what it raises are the failures, in the order of the jobs."""
    done, failures = 0, []
    for result in work.results(jobs, task, ordered=True):
        own = [Failure(result.item, result.error)] if isinstance(result.error, BenchloopError) else result.value or []
        failures += own
        done += not own
        if count is not None:
            count.ended(result.item, None, failed=bool(own))
    return Report(done, tuple(failures))


@dataclass(frozen=True, slots=True)
class _Fixed:
    """The one path of a file that is fetched again."""

    path: str

    def of(self, job_id: str, name: str) -> str:
        """The path."""
        return self.path

    def of_member(self, job_id: str, path: str) -> str:
        """The path."""
        return self.path


def save_to(work: Work, named: str, destination: Destination, *, path: str) -> object:
    """Write an artifact to `path`; `named` is its job's id and its name, as the journal has them. Raises `LocalError` if it is not clear
    where one ends and the other begins, and as a download does.
    """
    job_id, name = _parted(named, lambda job, name: path.split("/")[-2:] == [file_name(job), file_name(name)] or _in_task(path, job, name))
    fetch = _Fetch(work, destination, Choice(), _Fixed(path))
    if _in_task(path, job_id, name):
        return fetch.task_job(job_id)
    listed = lists.of_job(work, job_id)
    artifact = next((one for one in listed if one.name == name), None)
    if artifact is None:
        raise NotFound(404, f"the server lists no artifact {name} of job {job_id} any more")
    return fetch.artifact(artifact, listed)


def save_member_to(work: Work, named: str, destination: Destination, *, path: str) -> None:
    """Write a file out of a job's archive to `path`, as `save_to`."""
    job_id, inside = _parted(named, lambda _job, inside: path.rpartition("/")[2] == file_name(inside.rpartition("/")[2]))
    for member in lists.members_of(work, job_id):
        if member["path"] == inside:
            _Fetch(work, destination, Choice(), _Fixed(path)).member(job_id, member)
            return
    raise NotFound(404, f"there is no file {inside} in the archive of job {job_id} any more")


def _parted(named: str, fits: Callable[[str, str], bool]) -> tuple[str, str]:
    words = named.split(" ")
    for count in range(1, len(words)):
        job_id, rest = " ".join(words[:count]), " ".join(words[count:])
        if fits(job_id, rest):
            return job_id, rest
    raise LocalError("the journal does not say where it came from: run the command that wrote it again")


def _in_task(path: str, job_id: str, name: str) -> bool:
    folder, _, last = path.rpartition("/")
    return name == f"{encoded(job_id)}.tgz" == last and folder.rpartition("/")[2] != file_name(job_id)


@dataclass(frozen=True)
class _Fetch:
    """Fetches what one job has."""

    work: Work
    destination: Destination
    choice: Choice
    place: _Place | _Fixed

    def job(self, job_id: str, artifacts: list[Artifact] | None) -> list[Failure]:
        """All chosen artifacts of a job; one that fails does not stop the others."""
        if self.choice.member is not None:
            return self._members(job_id)
        artifacts = lists.of_job(self.work, job_id) if artifacts is None else artifacts
        found = tuple(artifacts)
        return _each((f"{job_id}:{artifact.name}", partial(self.artifact, artifact, found)) for artifact in found)

    def archive(self, job_id: str) -> list[Failure]:
        """The one archive of a job of our server; where there is none, the list says why."""
        artifact = Artifact(job_id, f"{job_id}.tgz", url="E26", sealed=True)
        try:
            return _each([(f"{job_id}:{artifact.name}", partial(self.artifact, artifact, ()))])
        except artifact_bytes.Nothing:
            return self.job(job_id, None)

    def task_job(self, job_id: str) -> list[Failure]:
        """The archive of a job of a download task, without a look at the list."""
        if self.choice.member is not None:
            return self._members(job_id)
        artifact = Artifact(job_id, f"{encoded(job_id)}.tgz", url="E26")
        self.artifact(artifact, ())
        return []

    def artifact(self, artifact: Artifact, siblings: Iterable[Artifact]) -> Path | None:
        """One artifact, if it was chosen and the server has it; returns its path."""
        if not self.choice.takes(artifact.name):
            self.work.watch(Filtered(artifact.name))
            return None
        if not artifact.url:
            self.work.watch(Noted(f"no artifact for job={artifact.job_id} ({artifact.error_code or 'no url'})"))
            if artifact.absent:
                return None
        lists.check(artifact, siblings)
        content = partial(artifact_bytes.content, self.work, artifact, placeholder=self.choice.placeholder)
        lasting = artifact_bytes.lasting(self.work, artifact, self.destination)
        expect = Expect(artifact.size, artifact.sha256)
        path = self.place.of(artifact.job_id, artifact.name)
        outcome = self.destination.save(path, f"artifact {artifact.job_id} {artifact.name}", content, expect=expect, lasting=lasting)
        if outcome.kept:
            self.work.watch(Skipped(outcome.path))
        elif outcome.status == "placeholder":
            self.work.watch(Warned(f"no artifact for job={artifact.job_id}, wrote empty {outcome.path}"))
        else:
            self.work.watch(Downloaded(outcome.path))
        return outcome.path

    def _members(self, job_id: str) -> list[Failure]:
        chosen = [member for member in lists.members_of(self.work, job_id) if self.choice.takes_member(member["path"])]
        return _each((f"{job_id}:{member['path']}", partial(self.member, job_id, member)) for member in chosen)

    def member(self, job_id: str, member: Mapping[str, Any]) -> None:
        """One file out of a job's archive."""
        path, name = member["path"], f"{job_id}/{member['path']}"
        expect = Expect(member.get("size"), member.get("sha256"))

        def opened(span: Span | None) -> Stream:
            return self.work.client.job_artifact_member_stream(job_id, path, span=span)

        def content(_etag: str | None) -> Content:
            stream = opened(None)
            if worth(stream):
                return Content((), etag=stream.etag, close=stream.close, body=stream)
            return Content(moving(stream, name, self.work.watch), expect, stream.etag, close=stream.close)

        lasting = Lasting(opened, expect, partial(told, self.work, name))
        at, source = self.place.of_member(job_id, path), f"member {job_id} {path}"
        outcome = self.destination.save(at, source, content, expect=expect, lasting=lasting)
        placed(self.work, outcome, Downloaded)


def _each(pieces: Iterable[tuple[str, Callable[[], object]]]) -> list[Failure]:
    """Do them one after another; one that fails does not stop the others, unless the connection or the key is what failed."""
    failures = []
    for label, piece in pieces:
        try:
            piece()
        except _ENDS_ALL:
            raise
        except BadId as error:
            failures.append(Failure(label, IntegrityError(str(error))))
        except BenchloopError as error:
            failures.append(Failure(label, error))
    return failures
