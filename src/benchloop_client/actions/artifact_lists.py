"""Which artifacts there are: what is listed for a job, which of it was chosen, and where each file's bytes come from."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from benchloop_client.actions.choosing import within
from benchloop_client.actions.events import Counter
from benchloop_client.actions.report import Failure, Report
from benchloop_client.actions.shapes import must_exist
from benchloop_client.actions.trajectory import job_ids
from benchloop_client.actions.work import Counted, Work
from benchloop_client.errors import BenchloopError, IntegrityError, NotFound

_ABSENT = "no_artifact"


@dataclass(frozen=True, slots=True)
class Source:
    """Whose artifacts: groups, jobs or one download task."""

    groups: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    task: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids asked for."""
        return (self.task,) if self.task is not None else self.groups or self.jobs


@dataclass(frozen=True, slots=True)
class Choice:
    """Globs (case counts on every system): `include` and `exclude` over names, `member` over paths inside archives.

    `placeholder`: the documented empty archive stands where one is missing; without it that is a failure.
    """

    include: str | None = None
    exclude: str | None = None
    member: str | None = None
    placeholder: bool = True

    @property
    def everything(self) -> bool:
        """Whether all artifacts are wanted, as they are."""
        return self.include is None and self.exclude is None and self.member is None

    def takes(self, name: str) -> bool:
        """Whether an artifact of that name is wanted."""
        if self.include is not None and not fnmatchcase(name, self.include):
            return False
        return self.exclude is None or not fnmatchcase(name, self.exclude)

    def takes_member(self, path: str) -> bool:
        """Whether a file inside an archive is wanted."""
        return self.member is None or fnmatchcase(path, self.member)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One entry of a job's list. `url` is empty where there is nothing to fetch; `link` is set where the bytes come from that address
    instead of E26; `size` and `sha256` are what the server announces. `sealed`: nobody listed it, but our server names the version of an
    archive by its SHA-256.
    """

    job_id: str
    name: str
    url: str
    error_code: str | None = None
    link: str | None = None
    size: int | None = None
    sha256: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    sealed: bool = False

    @property
    def absent(self) -> bool:
        """The server says that there is none: not a failure."""
        return not self.url and self.error_code == _ABSENT


def of_job(work: Work, job_id: str) -> list[Artifact]:
    """What E25 lists for a job."""
    return parsed(job_id, work.client.job_artifacts(job_id))


def parsed(job_id: str, answer: Any) -> list[Artifact]:
    """The entries of an E25 answer; anything of another shape counts as an empty list."""
    rows = answer.get("artifacts") if isinstance(answer, dict) else None
    return with_links([from_row(job_id, row) for row in rows or () if isinstance(row, dict)] if isinstance(rows, list) else [])


def from_row(job_id: str, row: Mapping[str, Any]) -> Artifact:
    """One entry as the server lists it."""
    name = row.get("name") or row.get("artifact") or ""
    size, sha256 = row.get("size"), row.get("sha256")
    return Artifact(
        job_id=job_id,
        name=name if isinstance(name, str) else "",
        url=str(row.get("url") or ""),
        error_code=row.get("error_code") if isinstance(row.get("error_code"), str) else None,
        size=size if isinstance(size, int) else None,
        sha256=sha256 if isinstance(sha256, str) else None,
        raw=row,
    )


def with_links(found: list[Artifact]) -> list[Artifact]:
    """E26 has one file a job. Where several names are listed, each must have an address of its own, or its bytes cannot be told apart."""
    several = {artifact.name for artifact in found if artifact.url}
    if len(several) < 2:
        return _once(found)
    return [_linked(artifact) if artifact.url else artifact for artifact in _once(found)]


def check(artifact: Artifact, siblings: Iterable[Artifact]) -> None:
    """Raise `IntegrityError` for an artifact whose bytes cannot be had, or would be another's."""
    if not artifact.name:
        raise IntegrityError("the server lists an artifact without a name")
    if not artifact.url:
        raise IntegrityError(artifact.error_code or "missing_url")
    if Tally(other.name for other in siblings)[artifact.name] > 1:
        raise IntegrityError(f"the server lists several artifacts of the name {artifact.name}; one file cannot hold them all")
    if artifact.link is not None and Tally(_bytes_at(other.link) for other in siblings)[_bytes_at(artifact.link)] > 1:
        raise IntegrityError("the server lists several artifacts behind one address; their contents cannot be told apart")


def _bytes_at(link: str | None) -> str | None:
    """What tells addresses of different bytes apart. The documented download of a job takes no name: a query changes nothing there."""
    if link is None:
        return None
    address = link.partition("#")[0]
    path = "/" + address.partition("://")[2].partition("/")[2] if "://" in address.partition("?")[0] else address
    plain = path.partition("?")[0]
    return plain if plain.endswith("/artifacts/download") else path


def listed(work: Work, source: Source, *, choice: Choice) -> tuple[list[dict[str, Any]], Report]:
    """Each raw artifact with `job_id` (and `group_id`), and its `members` where the server tells them; and the failures."""
    if source.groups:
        parts = [_listed_group(work, group_id, choice) for group_id in source.groups]
        return [row for rows, _ in parts for row in rows], Report.of_all(report for _, report in parts)
    if source.task is None:
        return _listed_jobs(work, _Scope("job artifact listings", source.jobs), choice)
    jobs: list[str] = []
    report = work.in_turn([source.task], lambda task: jobs.extend(task_jobs(work, task)[1]))
    return _listed_jobs(work, _Scope("task artifact listings", jobs), choice) if report.ok else ([], report)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Jobs that are listed together: the label of their counter, and their group where one was asked for."""

    label: str
    jobs: Sequence[str]
    group_id: str | None = None


def _listed_group(work: Work, group_id: str, choice: Choice) -> tuple[list[dict[str, Any]], Report]:
    jobs: list[str] = []
    report = work.in_turn([group_id], lambda group: jobs.extend(known_jobs(work, group)))
    return _listed_jobs(work, _Scope(f"group artifact listings {group_id}", jobs, group_id), choice) if report.ok else ([], report)


def _listed_jobs(work: Work, scope: _Scope, choice: Choice) -> tuple[list[dict[str, Any]], Report]:
    count = Counted(Counter(work.watch, scope.label, "jobs", len(scope.jobs)), "listed")
    group = {"group_id": scope.group_id} if scope.group_id is not None else {}
    rows: list[dict[str, Any]] = []
    failures: list[Failure] = []

    def chosen(job_id: str) -> list[dict[str, Any]]:
        return [{**_row(work, artifact), "job_id": job_id, **group} for artifact in of_job(work, job_id) if choice.takes(artifact.name)]

    for result in work.results(scope.jobs, chosen, ordered=True):
        if isinstance(result.error, BenchloopError):
            failures.append(Failure(result.item, result.error))
        rows += result.value or ()
        count.ended(result.item, None, failed=result.error is not None)
    return rows, Report(len(scope.jobs) - len(failures), tuple(failures))


def known_jobs(work: Work, group_id: str) -> list[str]:
    """The ids of a group's jobs, or of those that are selected. Raises `NotFound` for an unknown group."""
    found = list(job_ids(work, group_id))
    if not found and not work.selection:
        must_exist(work.client, group_id)
    return found


def task_jobs(work: Work, task_id: str) -> tuple[dict[str, Any], list[str]]:
    """A download task and its job ids (those that are selected), each once.

    Raises `IntegrityError` for a task without usable ids, `NotFound` for an unknown one.
    """
    task = work.client.download_task(task_id)
    ids = task.get("job_ids") if isinstance(task, dict) else None
    if not isinstance(ids, list) or not all(isinstance(job_id, str) for job_id in ids):
        raise IntegrityError(f"download task {task_id} has no list of job ids")
    found = list(dict.fromkeys(job_id.strip() for job_id in ids if job_id.strip()))
    if not found:
        raise IntegrityError(f"download task {task_id} holds no jobs")
    return task, within(work, task_id, found, task.get("group_id"))


def members_of(work: Work, job_id: str) -> list[dict[str, Any]]:
    """The files inside a job's archive; empty where there is no archive. Raises `IntegrityError` for an answer of another shape."""
    try:
        answer = work.client.job_artifact_members(job_id)
    except NotFound:
        return []
    found = answer.get("members") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(member, dict) and isinstance(member.get("path"), str) for member in found):
        raise IntegrityError(f"the list of files in the artifact of {job_id} has an unknown shape")
    return found


def _row(work: Work, artifact: Artifact) -> dict[str, Any]:
    row = dict(artifact.raw)
    if artifact.url and work.client.has("members"):
        row["members"] = members_of(work, artifact.job_id)
    return row


def _once(found: list[Artifact]) -> list[Artifact]:
    """Entries that are listed twice in the same way, once."""
    return list({(artifact.name, artifact.url, artifact.error_code): artifact for artifact in found}.values())


def _linked(artifact: Artifact) -> Artifact:
    url = artifact.url if "://" in artifact.url or artifact.url.startswith("/") else f"/{artifact.url}"
    return Artifact(artifact.job_id, artifact.name, artifact.url, artifact.error_code, url, artifact.size, artifact.sha256, artifact.raw)
