"""What a job may refer to: the uploads that were sent for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchloop_client.contract.resources import JobUpsert


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Bytes on the server: `size` of the plain content, `stored_size` in the blob store, what was found inside as JSON; `forsaken`: marked
    as unused (see `features.reclaim`).
    """

    kind: str
    sha256: str
    size: int
    stored_size: int
    info_json: str
    forsaken: bool = False


def named_by(jobs: Iterable[JobUpsert]) -> dict[str, set[str]]:
    """The hashes that the jobs name, by kind."""
    named: dict[str, set[str]] = {"trajectory": set(), "archive": set(), "media": set()}
    for job in jobs:
        if job.trajectory is not None:
            named["trajectory"].add(job.trajectory.sha256)
        if job.archive is not None:
            named["archive"].add(job.archive.sha256)
        named["media"].update(media.sha256 for media in job.media)
    return named


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Rows beside the jobs of a batch: every reward key, every image or sound."""

    rewards: list[dict[str, Any]]
    media: list[dict[str, Any]]


def details_of(jobs: Iterable[JobUpsert]) -> Details:
    """The rows beside these jobs; the same media named twice is one row."""
    jobs = list(jobs)
    media = {
        (job.job_id, item.sha256, item.name): {"job_id": job.job_id, "sha256": item.sha256, "name": item.name, "mime_type": item.mime_type}
        for job in jobs
        for item in job.media
    }
    rewards = [{"job_id": job.job_id, "reward_key": key, "value": value} for job in jobs for key, value in job.facts.rewards.items()]
    return Details(rewards=rewards, media=list(media.values()))
