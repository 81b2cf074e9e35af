"""One trial folder, read into one job: facts, trajectory, media and the files of its archive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchloop_client.contract.resources import TRAJECTORY_PROBLEM, JobFacts
from benchloop_client.formats.documents import Kept, Recent, Segment, UnreadableDocument, continuations, find_media, read_document, size_of
from benchloop_client.formats.files import Collected, collect, excluded, name_below
from benchloop_client.formats.harbor.facts import TrialFiles, trial_facts
from benchloop_client.formats.harbor.layout import TrialRef, folders
from benchloop_client.formats.jsonfile import Unreadable, find_object, listing, mapping, text
from benchloop_client.formats.records import JobSource, ReadOptions, Rejected, RunFile, RunJob, RunMedia

#: What Harbor's own upload takes from a trial's folder.
ALLOWED = (
    "config.json",
    "lock.json",
    "result.json",
    "analysis.md",
    "agent",
    "user-agent",
    "verifier",
    "artifacts",
    "trial.log",
    "exception.txt",
    "steps",
)
_TRAJECTORY = "trajectory.json"


def trial_source(ref: TrialRef, options: ReadOptions) -> JobSource:
    """The files that a trial is read from."""
    folder = ref.folder
    if folder is None:
        raw = msgspec.json.encode(ref.embedded)
        return JobSource(ref.name, (RunFile("result.json", raw, len(raw)),), complete=True)
    found = collect(folder, ALLOWED, options)
    return JobSource(ref.name, tuple(found.files), complete=not found.notes and not options.exclude)


def read_trial(ref: TrialRef, run_id: str, options: ReadOptions, recent: Recent) -> Iterator[RunJob | Rejected]:
    """One job, or what is wrong with it. A trajectory that cannot be read is rejected by itself: the job's facts stay."""
    try:
        trial = _read_files(ref)
    except Unreadable as error:
        yield Rejected(ref.name, str(error))
        return
    facts = trial_facts(trial, run_id, options)
    folder = ref.folder
    if folder is None:
        raw = msgspec.json.encode(ref.embedded)
        yield RunJob(facts, None, (RunFile("result.json", raw, len(raw)),), (), ref.name)
        return
    found = collect(folder, ALLOWED, options)
    document, problem = _document(folder, trial, options, recent)
    if problem is not None and trial.result is not None:
        yield Rejected(f"{ref.name}/{problem.path}", f"the trajectory is left out: {problem.reason}")
        facts = msgspec.structs.replace(facts, meta={**facts.meta, TRAJECTORY_PROBLEM: str(problem)})
    elif problem is not None:
        found.notes.append(f"{problem.path} is not complete yet: {problem.reason}")
    yield _job(ref, facts, document, found, options)


def _job(ref: TrialRef, facts: JobFacts, document: Kept | None, found: Collected, options: ReadOptions) -> RunJob:
    media: list[RunMedia] = []
    if document is not None:
        media, lossy = _media(ref, document, options), document().lossy
        if lossy:
            facts = msgspec.structs.replace(facts, meta={**facts.meta, "lossy": list(lossy)})
    return RunJob(facts, document, tuple(found.files), tuple(media), ref.name, tuple(found.notes))


def _read_files(ref: TrialRef) -> TrialFiles:
    folder = ref.folder
    if folder is None:
        result = ref.embedded or {}
        return TrialFiles(ref.name, mapping(result.get("config")), {}, result)
    parsed: dict[str, dict[str, Any] | None] = {}
    for name in ("result.json", "config.json", "lock.json"):
        try:
            parsed[name] = find_object(folder / name)
        except Unreadable as error:
            raise Unreadable(f"{name} {error}") from None
    own, config = parsed["result.json"], parsed["config.json"]
    if own is None and config is None:
        raise Unreadable("there is neither config.json nor result.json")
    return TrialFiles(ref.name, config or mapping(mapping(own).get("config")), parsed["lock.json"] or {}, own)


def _document(folder: Path, trial: TrialFiles, options: ReadOptions, recent: Recent) -> tuple[Kept | None, UnreadableDocument | None]:
    """The trial's trajectory and, where it has one that cannot be read, why."""
    segments = [_without_excluded(segment, options) for segment in _segments(folder, trial)]
    segments = [segment for segment in segments if segment.names]
    if not segments:
        return None, None
    try:
        document = Kept(lambda: read_document(segments))
    except UnreadableDocument as error:
        return None, error
    recent.add(document, size_of(segments))
    return document, None


def _without_excluded(segment: Segment, options: ReadOptions) -> Segment:
    names = tuple(name for name in segment.names if not excluded(f"{segment.folder}/{name}", options.exclude))
    kept = names if names[:1] == segment.names[:1] else ()
    return Segment(segment.root, segment.folder, kept, segment.trial_step)


def _segments(folder: Path, trial: TrialFiles) -> list[Segment]:
    """`agent/trajectory.json` and what continues it, or one such set for each trial step."""
    if _has_document(folder / "agent"):
        return [Segment(folder, "agent", (_TRAJECTORY, *continuations(folder / "agent")))]
    found = []
    for name in _step_names(folder, trial):
        agent = folder / "steps" / name / "agent"
        if _has_document(agent):
            found.append(Segment(folder, f"steps/{name}/agent", (_TRAJECTORY, *continuations(agent)), name))
    return found


def _has_document(agent: Path) -> bool:
    return os.path.exists(f"{agent}/{_TRAJECTORY}")  # noqa: PTH110 - this runs several times for every job


def _step_names(folder: Path, trial: TrialFiles) -> list[str]:
    """The trial's step folders, in the order of its result, then by name."""
    there = [child.name for child in folders(folder / "steps")]
    told = [text(mapping(step).get("step_name")) for step in listing((trial.result or {}).get("step_results"))]
    first = [name for name in dict.fromkeys(told) if name is not None and name in there]
    return first + [name for name in there if name not in first]


def _media(ref: TrialRef, document: Kept, options: ReadOptions) -> list[RunMedia]:
    """Files that the trajectory shows. Those of several trial steps are written from the trial's folder, others from `agent/`."""
    folder = ref.folder
    assert folder is not None
    normal = document().document
    base = "agent" if _has_document(folder / "agent") else ""
    found = find_media(normal, folder, base)
    if not found:
        return []
    return [
        media
        for media in found
        if not excluded(name_below(folder, media.source), options.exclude) and media.source.stat().st_size <= options.max_file_bytes
    ]
