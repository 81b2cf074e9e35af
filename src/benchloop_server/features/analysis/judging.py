"""Judging jobs: contents out of the blob store, through the analysis, into texts to be kept. No database; runs in any process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from benchloop_analysis import behaviours, sources
from benchloop_analysis.case import Case
from benchloop_analysis.events import read_trajectory
from benchloop_analysis.job_report import JobContext, job_report
from benchloop_analysis.judge import Opinion
from benchloop_analysis.markdown_job import job_markdown
from benchloop_analysis.records import File, JobAnalysis, JobInput
from benchloop_analysis.rsi import job_rsi, job_rsi_markdown
from benchloop_analysis.ruleset import RuleSet, default, load
from benchloop_analysis.siblings import Outline, outline
from benchloop_analysis.verdict import analyse_case
from benchloop_client.contract.compression import decode, frame
from benchloop_server.features.analysis.asked import Archive, Asked, Judged, Kept, Passing, Task
from benchloop_server.features.artifacts import service as artifacts
from benchloop_server.features.trajectories import service as trajectories
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.hands import Program
from benchloop_server.kit.verified import Place

PROGRAM = Program(__name__, "judge")
OBSERVE = Program(__name__, "observe")
#: A document of more bytes is not read: as objects it takes several times as much memory.
LARGEST_DOCUMENT = 512 << 20
_OUTLINES = 64


def judge(blobs: BlobStore, data: bytes) -> bytes:
    """The function of `PROGRAM`: a `Task` as MessagePack; answers a list of `Judged`, in the order of the jobs."""
    task = msgspec.msgpack.decode(data, type=Task)
    desk = Desk(blobs, rules_of(task.rules))
    return msgspec.msgpack.encode([desk.judged(asked) for asked in task.jobs])


def observe(blobs: BlobStore, data: bytes) -> bytes:
    """The function of `OBSERVE`: as `judge`, but looks only at what the jobs did."""
    task = msgspec.msgpack.decode(data, type=Task)
    desk = Desk(blobs, default())
    return msgspec.msgpack.encode([desk.observed(asked) for asked in task.jobs])


@lru_cache(maxsize=4)
def rules_of(texts: tuple[tuple[str, str], ...]) -> RuleSet:
    """The built-in rules and those of these texts. Raises `BadRules`."""
    return load(texts) if texts else default()


class Desk:
    """Judges one job after another; remembers passing attempts, as those at the same task come one after another."""

    def __init__(self, blobs: BlobStore, rules: RuleSet) -> None:
        self._blobs, self.rules = blobs, rules
        self._outlines: OrderedDict[str, Outline] = OrderedDict()

    def judged(self, asked: Asked) -> Judged:
        """The job judged. What cannot be read, or trips the analysis, is that job's error."""
        try:
            return self._judged(asked)
        except Exception as error:  # noqa: BLE001 - one job that cannot be judged is recorded, and stops no other
            return Judged(job_id=asked.job_id, error=f"it could not be analysed ({_sentence(error)})")

    def observed(self, asked: Asked) -> Judged:
        """What the job did, without a verdict."""
        try:
            features, unseen = _observed(self.case(asked))
        except Exception as error:  # noqa: BLE001 - one job that cannot be read is recorded, and stops no other
            return Judged(job_id=asked.job_id, error=f"it could not be analysed ({_sentence(error)})")
        return Judged(job_id=asked.job_id, features=features, unseen=unseen)

    def _judged(self, asked: Asked) -> Judged:
        case = self.case(asked)
        analysis = analyse_case(case, self.rules)
        self._note(asked, analysis)
        features, unseen = _observed(case)
        return msgspec.structs.replace(self.told(asked, analysis), features=features, unseen=unseen)

    def analysed(self, asked: Asked) -> JobAnalysis:
        """What the rules say, and the run itself."""
        return analyse_case(self.case(asked), self.rules)

    def case(self, asked: Asked) -> Case:
        """What the job holds. Raises whatever reading it does."""
        return Case(
            JobInput(
                job_id=asked.job_id,
                facts=asked.facts,
                document=self._document(asked.trajectory) if asked.trajectory is not None else None,
                files=sources.within(_files(self._blobs, asked.archive)) if asked.archive is not None else (),
                siblings=asked.siblings,
            )
        )

    def told(self, asked: Asked, analysis: JobAnalysis, opinion: Opinion | None = None) -> Judged:
        """The texts about a job, and what is counted of it."""
        passing = self._outline(asked.passing) if asked.passing is not None and analysis.verdict.fail_reason is not None else None
        return _texts(asked, analysis, passing, opinion)

    def _document(self, place: Place) -> dict[str, Any]:
        pieces = trajectories.plain(self._blobs, place, limit=LARGEST_DOCUMENT)
        found: dict[str, Any] = msgspec.json.decode(b"".join(pieces))
        return found

    def _outline(self, passing: Passing) -> Outline:
        found = self._outlines.get(passing.sha256)
        if found is None:
            found = self._remember(passing.sha256, outline(passing.job_id, read_trajectory(self._document(passing.trajectory))))
        return found

    def _note(self, asked: Asked, analysis: JobAnalysis) -> None:
        """Where the job just judged is the passing one of its task, others need not read it again."""
        if asked.trajectory is not None and analysis.trajectory is not None and asked.facts.reward is not None and asked.facts.reward >= 1:
            self._remember(asked.trajectory.sha256, outline(asked.job_id, analysis.trajectory))

    def _remember(self, key: str, found: Outline) -> Outline:
        self._outlines[key] = found
        if len(self._outlines) > _OUTLINES:
            self._outlines.popitem(last=False)
        return found


def _files(blobs: BlobStore, archive: Archive) -> Iterator[File]:
    for member, chunks in artifacts.files_of(blobs, archive.place, archive.index, wanted=sources.wanted):
        yield sources.file_from(member.path, chunks, size=member.size)


def _observed(case: Case) -> tuple[bytes, str | None]:
    """What the job did, in zstd, and why that could not be told. A slip of the catalogue costs no verdict."""
    if case.job.document is None:
        return b"", None
    try:
        return packed(behaviours.observe(case)), None
    except Exception as error:  # noqa: BLE001 - one job that cannot be observed is recorded, and stops no other
        return b"", _sentence(error)


def _sentence(error: Exception) -> str:
    line = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {line}"


def _texts(asked: Asked, analysis: JobAnalysis, passing: Outline | None, opinion: Opinion | None) -> Judged:
    context = JobContext(group_id=asked.group_id, cost_usd=asked.cost_usd, sibling=passing, opinion=opinion)
    report = job_report(analysis, asked.facts, context)
    weak = job_rsi(analysis, passing)
    shown = {"report": report, "markdown": job_markdown(report), "rsi": weak, "rsi_markdown": job_rsi_markdown(weak)}
    slim = msgspec.structs.replace(asked.facts, meta={}, phases={}, rewards={}, error_message=None)
    kept = Kept(analysis=msgspec.structs.replace(analysis, trajectory=None), facts=slim, opinion=opinion)
    return Judged(
        job_id=asked.job_id,
        fail_reason=analysis.verdict.fail_reason,
        sub_fail_reason=analysis.verdict.sub_fail_reason,
        reward_valid=analysis.verdict.reward_valid,
        tier=analysis.verdict.tier,
        kept=packed(kept),
        shown=packed(shown),
    )


def packed(value: Any) -> bytes:
    """The value as JSON in zstd. Half a surrogate pair, which a file in an archive may hold escaped, becomes U+FFFD."""
    try:
        return frame(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return frame(msgspec.json.encode(_whole(msgspec.to_builtins(value))))


def unpacked(raw: bytes) -> bytes:
    """The JSON of `packed`."""
    return b"".join(decode([raw]))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value
