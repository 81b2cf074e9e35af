"""One upload while it arrives: bytes are counted, hashed, judged and staged, and at the end packed into blobs. No row is written here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchloop_client.contract import trajectory
from benchloop_client.contract.compression import BadFrames, Decoder, TooMuch
from benchloop_client.contract.errors import Code
from benchloop_server.features.artifacts.archive_index import ArchiveLimits, ArchiveWalker
from benchloop_server.features.artifacts.archive_index import encode_index as encode_members
from benchloop_server.features.artifacts.tar_entry import BadArchive
from benchloop_server.features.trajectories.frames import Stored, store
from benchloop_server.features.trajectories.frames import encode_index as encode_steps
from benchloop_server.features.trajectories.received import Received
from benchloop_server.kit.errors import DomainError, unprocessable
from benchloop_server.kit.limits import Limits
from benchloop_server.kit.packs import Packer, Part
from benchloop_server.kit.staging import Staged
from benchloop_server.sql.records import ArchiveInfo, TrajectoryInfo

#: A decoder of a trajectory takes at most this much memory for its window (log2 bytes).
_WINDOW_LOG = 25
#: Compressed bytes that are held until the document is judged, so that they need not be made again.
_WIRE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the sender says is coming. `size` None: not said. `label` names the upload in sentences."""

    kind: str
    sha256: str
    size: int | None
    encoding: str | None
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An upload that was taken: its stored form and index are with the packer, and durable once that is closed."""

    kind: str
    sha256: str
    size: int
    stored: Part
    index: Part | None
    info_json: str


class Receiver:
    """Feed it the bytes as sent, then `finish`; always `close`. Raises `DomainError`: 413 beyond the limits, 422 for anything wrong."""

    def __init__(self, claim: Claim, limits: Limits, scratch: Path) -> None:
        self._claim, self._limits = claim, limits
        self._staged = Staged(scratch)
        self._scratch = scratch
        self._limit = limit_of(claim.kind, limits)
        self._decoder = Decoder(limit=self._limit, window_log=_WINDOW_LOG) if claim.encoding else None
        #: The compressed bytes, as long as they are few.
        self._wire: bytearray | None = bytearray() if claim.encoding else None
        self._walker = ArchiveWalker(_archive_limits(limits)) if claim.kind == "archive" else None
        if claim.size is not None and claim.size > self._limit:
            raise self._too_large()

    def feed(self, data: bytes) -> None:
        """Take the next bytes as they were sent."""
        if self._wire is not None:
            self._wire = self._wire + data if len(self._wire) + len(data) <= _WIRE else None
        try:
            for plain in self._decoder.feed(data) if self._decoder else (data,):
                self._take(plain)
        except TooMuch as error:
            raise self._too_large() from error
        except (BadFrames, BadArchive) as error:
            raise self._refused(str(error)) from error

    def weight(self) -> int:
        """Plain bytes that `finish` will hold in memory."""
        return self._staged.size if self._claim.kind == "trajectory" else 0

    def finish(self, packer: Packer) -> Judged:
        """Check length, hash and content, and hand what is to be stored to the packer."""
        try:
            if self._decoder:
                self._decoder.finish()
            self._check()
            if self._claim.kind == "trajectory":
                return self._judged_trajectory(packer)
            if self._walker is not None:
                return self._judged_archive(self._walker, packer)
            return self._judged(packer.add(self._staged))
        except (BadFrames, BadArchive, trajectory.InvalidTrajectory) as error:
            raise self._refused(str(error)) from error

    def close(self) -> None:
        """Forget what was staged."""
        self._staged.close()

    def _take(self, plain: bytes) -> None:
        if self._staged.size + len(plain) > self._limit:
            raise self._too_large()
        if self._claim.size is not None and self._staged.size + len(plain) > self._claim.size:
            raise self._refused(f"it holds more than the {self._claim.size} bytes it announced")
        if self._walker is not None:
            self._walker.feed(plain)
        self._staged.write(plain)

    def _check(self) -> None:
        if self._claim.size is not None and self._staged.size != self._claim.size:
            raise self._refused(f"it holds {self._staged.size} bytes and announced {self._claim.size}")
        if self._staged.sha256 != self._claim.sha256:
            raise self._refused(f"its bytes have the SHA-256 {self._staged.sha256}: damaged on the way, or the wrong ones were sent")

    def _judged_trajectory(self, packer: Packer) -> Judged:
        plain = self._staged.read()
        document = trajectory.decode_strict(plain)
        received = Received(bytes(self._wire), plain) if self._wire else None
        with Staged(self._scratch) as frames:
            stored = store(document, frames, received=received)
            info = self._trajectory_info(document, stored)
            return self._judged(packer.add(frames), index=packer.add_bytes(encode_steps(stored.index)), info=info)

    def _trajectory_info(self, document: dict[str, Any], stored: Stored) -> TrajectoryInfo:
        mark = trajectory.stamped(document)
        if mark is None:
            raise self._refused("its `extra.benchloop` does not name job, group and task, or `trajectory_id` is not the job's id")
        counts = trajectory.counts(document)
        return TrajectoryInfo(
            document_bytes=stored.plain_length,
            served_sha256=stored.served_sha256,
            trajectory_id=mark.job_id,
            group_id=mark.group_id,
            task_id=mark.task_id,
            n_steps=counts.n_steps,
            n_agent_steps=counts.n_agent_steps,
            n_tool_calls=counts.n_tool_calls,
            n_tool_errors=counts.n_tool_errors,
            n_llm_calls=counts.n_llm_calls,
            thinking_chars=counts.thinking_chars,
            prompt_tokens=counts.prompt_tokens,
            completion_tokens=counts.completion_tokens,
            cached_tokens=counts.cached_tokens,
            context_peak=counts.context_peak,
            cost_usd=counts.cost,
            tools=dict(counts.tools),
        )

    def _judged_archive(self, walker: ArchiveWalker, packer: Packer) -> Judged:
        members = walker.finish()
        info = ArchiveInfo(members=len(members.members), plain_bytes=sum(member.size for member in members.members))
        return self._judged(packer.add(self._staged), index=packer.add_bytes(encode_members(members)), info=info)

    def _judged(self, stored: Part, *, index: Part | None = None, info: msgspec.Struct | None = None) -> Judged:
        return Judged(
            kind=self._claim.kind,
            sha256=self._claim.sha256,
            size=self._staged.size,
            stored=stored,
            index=index,
            info_json="{}" if info is None else msgspec.json.encode(info).decode(),
        )

    def _refused(self, why: str) -> DomainError:
        return unprocessable(f"{self._claim.label} is refused: {why}")

    def _too_large(self) -> DomainError:
        return DomainError(Code.TOO_LARGE, f"{self._claim.label} is larger than the {self._limit} bytes this server takes")


def limit_of(kind: str, limits: Limits) -> int:
    """The most plain bytes that one upload of this kind may have."""
    return {"trajectory": limits.trajectory_bytes, "archive": limits.archive_bytes, "media": limits.media_bytes}[kind]


def _archive_limits(limits: Limits) -> ArchiveLimits:
    return ArchiveLimits(members=limits.archive_members, plain=limits.archive_plain_bytes, ratio=limits.archive_ratio)
