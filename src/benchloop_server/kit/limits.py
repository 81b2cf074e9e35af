"""How much one request may ask for; bytes and counts."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds, all inclusive."""

    json_body_bytes: int = 32 * _MIB
    jobs_in_batch: int = 500
    jobs_in_check: int = 2_000
    uploads_in_check: int = 2_000
    page: int = 1_000
    trajectory_bytes: int = 256 * _MIB
    archive_bytes: int = 16_384 * _MIB
    media_bytes: int = 256 * _MIB
    archive_members: int = 100_000
    archive_plain_bytes: int = 65_536 * _MIB
    archive_ratio: int = 400
    bundle_items: int = 2_000
