"""The trajectory files of one job as one document: continuation files appended without what they copy, trial steps one after another."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchloop_client.contract.trajectory import InvalidTrajectory, MediaPart, Normal, load, media_parts, normalise
from benchloop_client.formats.files import inside
from benchloop_client.formats.jsonfile import Unreadable, listing, mapping, read_bytes
from benchloop_client.formats.records import RunMedia

_CONTINUED = re.compile(r"trajectory\.cont-([0-9]+)\.json\Z")
#: Python's objects take several times as much memory as the JSON they come from; whoever takes jobs one by one needs the last one only.
_RECENT_BYTES = 256 * 1024
_TOTALS = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps")


class UnreadableDocument(InvalidTrajectory):
    """A trajectory file that gives no document: `path` within its job, `reason` a sentence without the path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Segment:
    """One trajectory file: `folder` and the file names relative to `root`, the first continued by the others in order."""

    root: Path
    folder: str
    names: tuple[str, ...]
    trial_step: str | None = None


class Kept:
    """A document that is at hand while few others were read since, and read again if it is asked for later."""

    def __init__(self, read: Callable[[], Normal]) -> None:
        self._read = read
        self._normal: Normal | None = read()

    def __call__(self) -> Normal:
        normal = self._normal
        return self._read() if normal is None else normal

    def forget(self) -> None:
        """Let go of the document."""
        self._normal = None


class Recent:
    """The documents read last, as long as their files together are small: who looks at a job twice need not have it read twice."""

    def __init__(self, limit: int = _RECENT_BYTES) -> None:
        self._limit = limit
        self._held: deque[tuple[Kept, int]] = deque()
        self._bytes = 0

    def add(self, document: Kept, size: int) -> None:
        """Hold a document whose files have `size` bytes, and let go of the oldest ones beyond the limit; the newest always stays."""
        self._held.append((document, size))
        self._bytes += size
        while self._bytes > self._limit and len(self._held) > 1:
            oldest, freed = self._held.popleft()
            oldest.forget()
            self._bytes -= freed


def continuations(folder: Path) -> list[str]:
    """The names of `trajectory.cont-N.json` in a folder, by N."""
    try:
        found = [(int(match.group(1)), name) for name in os.listdir(folder) if (match := _CONTINUED.match(name))]  # noqa: PTH208
    except OSError:
        return []
    return [name for _, name in sorted(found)]


def read_document(segments: Sequence[Segment]) -> Normal:
    """The one document of these segments. Raises `UnreadableDocument` naming the file."""
    parts = [_read_segment(segment) for segment in segments]
    values = [value for value, _ in parts]
    lossy = {name for _, names in parts for name in names}
    try:
        normal = normalise(values[0] if len(values) == 1 else _chained(values))
    except InvalidTrajectory as error:
        raise UnreadableDocument(_place(segments[0], segments[0].names[0]), str(error)) from None
    return Normal(normal.document, tuple(sorted(lossy.union(normal.lossy))))


def size_of(segments: Sequence[Segment]) -> int:
    """The bytes of the files of these segments, as far as they are there."""
    total = 0
    for segment in segments:
        for name in segment.names:
            with suppress(OSError):
                total += os.stat(f"{segment.root}/{_place(segment, name)}").st_size  # noqa: PTH116 - this runs for every job
    return total


def _place(segment: Segment, name: str) -> str:
    return f"{segment.folder}/{name}" if segment.folder else name


def find_media(document: dict[str, Any], root: Path, folder: str) -> list[RunMedia]:
    """The images and sounds of the document that are files inside `root`; addresses of other places are left as they are."""
    found = []
    for part in media_parts(document):
        target = inside(root, f"{folder}/{part.path}" if folder else part.path) if _is_local(part) else None
        if target is not None:
            found.append(RunMedia(name=part.path, mime_type=part.media_type, source=target))
    return found


def _is_local(part: MediaPart) -> bool:
    try:
        return not urlsplit(part.path).scheme and not part.path.startswith("/")
    except ValueError:
        return False


def _read_segment(segment: Segment) -> tuple[dict[str, Any], set[str]]:
    read = []
    lossy: set[str] = set()
    for name in segment.names:
        value, names = _read_value(segment.root, _place(segment, name))
        read.append((name, value))
        lossy.update(names)
    value = joined(read)
    if segment.trial_step is not None:
        value = _marked(value, segment)
    return value, lossy


def _read_value(root: Path, place: str) -> tuple[dict[str, Any], list[str]]:
    path = inside(root, place)
    if path is None:
        raise UnreadableDocument(place, "a link that leaves the folder, or gone")
    try:
        value, lossy = load(read_bytes(path))
    except (InvalidTrajectory, Unreadable) as error:
        raise UnreadableDocument(place, str(error)) from None
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        raise UnreadableDocument(place, "no trajectory with a list of steps")
    return value, lossy


def joined(read: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """A trajectory and its continuations (file name, value) as one value.

    Steps that a continuation only copies for context are dropped. Totals are those of the last file, which repeats the whole run's.
    """
    _, first = read[0]
    if len(read) == 1:
        return first
    steps = list(first["steps"])
    for name, value in read[1:]:
        own = [step for step in value["steps"] if mapping(step).get("is_copied_context") is not True]
        steps += [_with_extra(step, {"segment": name}) for step in own]
    totals = next((value["final_metrics"] for _, value in reversed(read) if isinstance(value.get("final_metrics"), dict)), None)
    whole = {**first, "steps": steps, "extra": {**mapping(first.get("extra")), "segments": [name for name, _ in read]}}
    whole.pop("continued_trajectory_ref", None)
    if totals is not None:
        whole["final_metrics"] = {**totals, **({"total_steps": len(steps)} if "total_steps" in totals else {})}
    return whole


def _marked(value: dict[str, Any], segment: Segment) -> dict[str, Any]:
    """The value with each step naming its trial step, and relative media paths written from the trial's folder, so they stay unique."""
    steps = [_with_extra(_rebased(step, segment.folder), {"trial_step": segment.trial_step}) for step in value["steps"]]
    return {**value, "steps": steps}


def _chained(values: list[dict[str, Any]]) -> dict[str, Any]:
    """Trial steps one after another: agent and ids of the first, totals added up, the other heads kept in `extra`."""
    heads = [{key: item for key, item in value.items() if key not in ("steps", "subagent_trajectories")} for value in values]
    totals = [mapping(value.get("final_metrics")) for value in values]
    summed = {key: sum(known) for key in _TOTALS if (known := [total[key] for total in totals if _is_number(total.get(key))])}
    subagents = [child for value in values for child in listing(value.get("subagent_trajectories"))]
    whole: dict[str, Any] = {
        **{key: item for key, item in heads[0].items() if key != "continued_trajectory_ref"},
        "steps": [step for value in values for step in value["steps"]],
        "extra": {**mapping(heads[0].get("extra")), "trial_steps": heads},
    }
    if summed:
        whole["final_metrics"] = summed
    if subagents:
        whole["subagent_trajectories"] = subagents
    return whole


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _with_extra(step: Any, marks: dict[str, Any]) -> Any:
    if not isinstance(step, dict):
        return step
    extra = step.get("extra")
    kept = extra if isinstance(extra, dict) else ({} if extra is None else {"extra": extra})
    return {**step, "extra": {**kept, **marks}}


def _rebased(step: Any, folder: str) -> Any:
    """The step with `source.path` of its images and sounds prefixed by `folder` where it is a relative path."""
    if not isinstance(step, dict):
        return step
    observed = step.get("observation")
    changed = {**step, "message": _rebased_content(step.get("message"), folder)}
    if isinstance(observed, dict) and isinstance(observed.get("results"), list):
        results = [
            {**result, "content": _rebased_content(result["content"], folder)}
            if isinstance(result, dict) and "content" in result
            else result
            for result in observed["results"]
        ]
        changed["observation"] = {**observed, "results": results}
    return changed


def _rebased_content(content: Any, folder: str) -> Any:
    if not isinstance(content, list):
        return content
    return [_rebased_part(part, folder) for part in content]


def _rebased_part(part: Any, folder: str) -> Any:
    source = mapping(part).get("source")
    path = mapping(source).get("path")
    if not isinstance(path, str) or not _is_local(MediaPart(path, "")):
        return part
    return {**part, "source": {**mapping(source), "path": f"{folder}/{path}"}}
