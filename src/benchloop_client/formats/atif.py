"""Bare ATIF documents, one file or a folder of them: jobs without a grade, each with its continuation and summary files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchloop_client.contract.ids import mint_group_id
from benchloop_client.contract.resources import GroupUpsert, JobFacts, Source
from benchloop_client.contract.trajectory import Counts, InvalidTrajectory, Normal, counts, load, stamped
from benchloop_client.formats.documents import Kept, Recent, Segment, UnreadableDocument, find_media, read_document, size_of
from benchloop_client.formats.files import archive_name, excluded, inside, name_below, regular
from benchloop_client.formats.jsonfile import Unreadable, mapping, read_bytes, text
from benchloop_client.formats.records import ReadOptions, Rejected, Run, RunFile, RunGroup, RunJob, RunMedia, Share, UnreadableRun
from benchloop_client.formats.times import utc

READER = "atif"
#: Raise when the same files would give other records than before.
READER_VERSION = 1

_EXPORTED = ".traces.json"
_CONTINUED = re.compile(r"(?P<stem>.*)trajectory\.cont-(?P<number>[0-9]+)\.json\Z")
_SUMMARY = re.compile(r"(?P<stem>.*)trajectory\.summarization-[0-9]+-(?:summary|questions|answers)\.json\Z")


@dataclass(frozen=True, slots=True)
class _Document:
    """One trajectory: its file, what continues it, and its summarization files, all relative to the run's root, posix."""

    path: str
    continued: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return (self.path, *self.continued, *self.summaries)


def is_atif(path: Path) -> bool:
    """Whether a JSON file looks like an ATIF document."""
    return path.is_file() and path.suffix == ".json" and not path.name.endswith(_EXPORTED) and _refusal(path) is None


def open_atif(path: Path, options: ReadOptions) -> Run:
    """One group of every document at or below `path`. Raises `UnreadableRun` when there is none, or the one file given is none."""
    if path.is_file():
        return _open_file(path, options)
    names = list(_json_files(path, options))
    if not names:
        raise UnreadableRun(f"{path} holds no JSON file that could be an ATIF document")
    name = path.resolve().name or "trajectories"
    # A folder of loose documents has no id of its own: its place on this machine is what tells it from others of the same name.
    return _run(path, names, name=name, run_id=str(path.resolve()), options=options)


def _open_file(path: Path, options: ReadOptions) -> Run:
    if path.name.endswith(_EXPORTED):
        raise UnreadableRun(
            f"{path} is an exported conversation ({_EXPORTED}), which has lost its steps; give the trajectory it was made from"
        )
    reason = _refusal(path)
    if reason is not None:
        raise UnreadableRun(f"{path} {reason}")
    name = _task_name(path.name)
    return _run(path.parent, _with_followers(path), name=name, run_id=str(path.resolve()), options=options)


def _run(root: Path, names: list[str], *, name: str, run_id: str, options: ReadOptions) -> Run:
    group_id = options.group or mint_group_id(name, run_id)
    facts = GroupUpsert(
        name=name,
        benchmark=options.benchmark,
        model=options.model,
        source=Source(format="atif", reader=READER, reader_version=READER_VERSION, location=name),
    )
    return Run("atif", (RunGroup(group_id, facts, partial(_read, root, names, options), partial(_read_share, root, names, options)),))


def _json_files(root: Path, options: ReadOptions) -> Iterator[str]:
    for place in sorted(root.rglob("*.json")):
        name = place.relative_to(root).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if not hidden and not excluded(name, options.exclude) and (place.is_file() or place.is_symlink()):
            yield name


def _with_followers(path: Path) -> list[str]:
    """The file itself, and beside it the files that continue or summarise it."""
    followers = []
    for match, name in (
        (pattern.match(place.name), place.name) for place in path.parent.glob("*.json") for pattern in (_CONTINUED, _SUMMARY)
    ):
        if match is not None and f"{match['stem']}trajectory.json" == path.name:
            followers.append(name)
    return [path.name, *sorted(followers)]


def _read(root: Path, names: list[str], options: ReadOptions) -> Iterator[RunJob | Rejected]:
    return (job for _, job in _read_share(root, names, options, Share()))


def _read_share(root: Path, names: list[str], options: ReadOptions, share: Share) -> Iterator[tuple[int, RunJob | Rejected]]:
    recent = Recent()
    for index, document in enumerate(_documents(names)):
        if share.takes(index):
            found = iter((document,)) if isinstance(document, Rejected) else _read_one(root, document, options, recent)
            yield from ((index, job) for job in found)


def _documents(names: list[str]) -> Iterator[_Document | Rejected]:
    """The files sorted into documents; a continuation or summary whose first part is not there stands for itself."""
    there = set(names)
    continued: dict[str, list[tuple[int, str]]] = {}
    summaries: dict[str, list[str]] = {}
    alone = []
    for name in names:
        more, summary = _CONTINUED.match(name), _SUMMARY.match(name)
        match = more or summary
        first = f"{match['stem']}trajectory.json" if match else None
        if first is None or first not in there:
            alone.append(name)
        elif more is not None:
            continued.setdefault(first, []).append((int(more["number"]), name))
        else:
            summaries.setdefault(first, []).append(name)
    for name in alone:
        if name.endswith(_EXPORTED):
            yield Rejected(name, "an exported conversation, which has lost its steps; the trajectory it was made from is what counts")
        else:
            yield _Document(name, tuple(part for _, part in sorted(continued.get(name, []))), tuple(summaries.get(name, [])))


def _read_one(root: Path, document: _Document, options: ReadOptions, recent: Recent) -> Iterator[RunJob | Rejected]:
    files = [regular(root, root / name, archive_name(name)) for name in document.files]
    if None in files:
        yield Rejected(document.path, "a link that leaves the folder, or no regular file")
        return
    reason = _refusal(root / document.path)
    if reason is not None:
        yield Rejected(document.path, reason)
        return
    segments = [Segment(root, "", (document.path, *document.continued))]
    try:
        kept = Kept(partial(read_document, segments))
    except UnreadableDocument as error:
        yield Rejected(error.path, error.reason)
        return
    recent.add(kept, size_of(segments))
    normal = kept()
    media = find_media(normal.document, root, document.path.rpartition("/")[0])
    taken, notes = _archive([file for file in files if file is not None], media, root, options)
    yield RunJob(_facts(document, normal, options), kept, tuple(taken), tuple(media), document.path, tuple(notes))


def _archive(files: list[RunFile], media: list[RunMedia], root: Path, options: ReadOptions) -> tuple[list[RunFile], list[str]]:
    by_path = {file.path: file for file in files}
    for item in media:
        path = archive_name(name_below(root, item.source))
        by_path.setdefault(path, RunFile(path, item.source, item.source.stat().st_size))
    fits = [file for file in by_path.values() if file.size <= options.max_file_bytes and not excluded(file.path, options.exclude)]
    notes = [f"{file.path} has {file.size} bytes, too many for a file" for file in by_path.values() if file.size > options.max_file_bytes]
    return sorted(fits, key=lambda file: file.path), notes


def _facts(document: _Document, normal: Normal, options: ReadOptions) -> JobFacts:
    """The facts a document tells of itself. `task_id` is that of its Benchloop stamp if it was exported from a server, else its name."""
    value, counted = normal.document, counts(normal.document)
    mark = stamped(value)
    task = mark.task_id if mark is not None else _task_name(document.path)
    agent = value["agent"]
    times = [moment for moment in (utc(step.get("timestamp")) for step in value["steps"]) if moment is not None]
    return JobFacts(
        trial_key=document.path if options.step is None else f"step {options.step}/{document.path}",
        task_id=task,
        instance_id=task,
        status="completed",
        step=options.step,
        model=options.model or agent.get("model_name") or _step_model(value),
        agent=agent["name"],
        agent_version=None if agent["version"] == "unknown" else agent["version"],
        **_usage(counted),
        started_at=min(times, default=None),
        finished_at=max(times, default=None),
        source=Source(format="atif", reader=READER, reader_version=READER_VERSION, location=document.path),
        meta=_meta(normal),
    )


def _meta(normal: Normal) -> dict[str, Any]:
    meta = {key: normal.document[key] for key in ("session_id", "trajectory_id") if normal.document.get(key) is not None}
    return {**meta, **({"lossy": list(normal.lossy)} if normal.lossy else {})}


def _usage(counted: Counts) -> dict[str, Any]:
    return {
        "n_input_tokens": counted.prompt_tokens,
        "n_cache_tokens": counted.cached_tokens,
        "n_output_tokens": counted.completion_tokens,
        "cost_usd": counted.cost,
    }


def _step_model(value: dict[str, Any]) -> str | None:
    names = {step["model_name"] for step in value["steps"] if step.get("model_name")}
    return names.pop() if len(names) == 1 else None


def _task_name(path: str) -> str:
    """A document's place without its endings: `runs/hello.trajectory.json` is `runs/hello`, `a/agent/trajectory.json` is `a`."""
    folder, _, name = path.rpartition("/")
    stem = re.sub(r"\.json\Z", "", name)
    stem = re.sub(r"(?:\A|[._-])trajectory(?=\.|\Z)", "", stem).strip("._-")
    if not stem:
        folder = re.sub(r"(?:\A|/)agent\Z", "", folder)
    return "/".join(part for part in (folder, stem) if part) or name


def _refusal(path: Path) -> str | None:
    """Why a file is no ATIF document, None when it is one."""
    target = inside(path.parent, path.name)
    if target is None:
        return "is a link that leaves the folder, or no regular file"
    try:
        value, _ = load(read_bytes(target))
    except (InvalidTrajectory, Unreadable) as error:
        return str(error)
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return "is no ATIF document: it has no list of steps"
    version = text(value.get("schema_version"))
    if (version is None or not version.startswith("ATIF")) and "agent" not in mapping(value):
        return "is no ATIF document: it names neither an ATIF version nor an agent"
    return None
