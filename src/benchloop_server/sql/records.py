"""The shapes inside JSON columns that more than one feature reads."""

from __future__ import annotations

import msgspec


class TrajectoryInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`uploads.info_json` of a trajectory: the stamp found in the document and what was counted in it (null: not recorded).

    `document_bytes` is the length of the document as it is served (E10); `uploads.size` is the length of what was sent. `served_sha256` is
    of the document as it is served in zstd, null where it was stored before this was noted.
    """

    document_bytes: int
    trajectory_id: str
    group_id: str
    task_id: str
    n_steps: int
    n_agent_steps: int
    n_tool_calls: int
    n_tool_errors: int | None = None
    n_llm_calls: int | None = None
    thinking_chars: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    context_peak: int | None = None
    cost_usd: float | None = None
    tools: dict[str, int] = {}
    served_sha256: str | None = None


class ServedInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The one part of `TrajectoryInfo` that a body of many jobs needs; quick to read."""

    served_sha256: str | None = None


class ArchiveInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`uploads.info_json` of an archive: the number of files and their plain bytes."""

    members: int
    plain_bytes: int
