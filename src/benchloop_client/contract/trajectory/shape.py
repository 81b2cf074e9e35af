"""The fixed facts about the normal form: its version, its keys in their order, its media types and limits, and its errors."""

from __future__ import annotations

import re
from datetime import datetime

SCHEMA_VERSION = "ATIF-v1.8"

#: Deepest nesting of arrays and objects that a document may have. Below what the strictest common JSON readers accept (200).
MAX_DEPTH = 128

#: Keys of a document in the order they are written. `steps` comes late so that what precedes it is small and its steps can be stored apart.
ROOT_KEYS = (
    "schema_version",
    "trajectory_id",
    "session_id",
    "agent",
    "notes",
    "final_metrics",
    "continued_trajectory_ref",
    "extra",
    "steps",
    "subagent_trajectories",
)
STEP_KEYS = (
    "step_id",
    "timestamp",
    "source",
    "model_name",
    "reasoning_effort",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "llm_call_count",
    "is_copied_context",
    "extra",
)
#: Keys that only a step of the agent may have.
AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")

SOURCES = frozenset({"system", "user", "agent"})
#: Other names of a step's source, as harnesses write them.
SOURCE_ALIASES = {"assistant": "agent", "ai": "agent", "model": "agent", "bot": "agent", "human": "user", "developer": "system"}

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
AUDIO_TYPES = frozenset({"audio/wav", "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/flac", "audio/webm", "audio/aiff"})
#: Common other spellings of the media types above.
MEDIA_ALIASES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}

#: Whole numbers outside this range are written as text: neither SQL integers nor most JSON readers keep them.
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?:(:[0-9]{2})(?:\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


class InvalidTrajectory(ValueError):
    """Bytes or a value that no trajectory can be made of, or a document that breaks a rule of the normal form. One sentence."""


class TooDeep(InvalidTrajectory):
    """Arrays and objects nested deeper than `MAX_DEPTH`."""

    def __init__(self) -> None:
        super().__init__(f"the document nests arrays and objects deeper than {MAX_DEPTH} levels")


def is_timestamp(text: str) -> bool:
    """Whether `text` is an ISO 8601 date and time as the normal form allows it (the zone may be missing)."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    day, minutes, seconds, zone = match.groups()
    try:
        datetime.fromisoformat(f"{day}T{minutes or '00:00'}{seconds or ':00'}{'' if zone in (None, 'Z') else zone}")
    except ValueError:
        return False
    return True
