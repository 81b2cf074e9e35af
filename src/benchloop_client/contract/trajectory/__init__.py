"""The normal form of a trajectory: one ATIF v1.8 document, read leniently, written and checked strictly, split by steps for storage."""

from __future__ import annotations

from benchloop_client.contract.trajectory.absent import Unrecorded, absent_document, is_absent
from benchloop_client.contract.trajectory.counting import Counts, counts, step_preview
from benchloop_client.contract.trajectory.document import (
    MediaPart,
    Stamp,
    encode,
    media_parts,
    split,
    stamp,
    stamped,
    with_media,
)
from benchloop_client.contract.trajectory.loading import load
from benchloop_client.contract.trajectory.normal import Normal, normalise
from benchloop_client.contract.trajectory.packing import packed
from benchloop_client.contract.trajectory.shape import MAX_DEPTH, SCHEMA_VERSION, InvalidTrajectory, TooDeep
from benchloop_client.contract.trajectory.strict import check_strict, decode_strict

__all__ = [
    "MAX_DEPTH",
    "SCHEMA_VERSION",
    "Counts",
    "InvalidTrajectory",
    "MediaPart",
    "Normal",
    "Stamp",
    "TooDeep",
    "Unrecorded",
    "absent_document",
    "check_strict",
    "counts",
    "decode_strict",
    "encode",
    "is_absent",
    "load",
    "media_parts",
    "normalise",
    "packed",
    "split",
    "stamp",
    "stamped",
    "step_preview",
    "with_media",
]
