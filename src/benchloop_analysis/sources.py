"""Which files of a job's archive the analysis reads, and how much of a long one."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from benchloop_analysis.records import File

#: Longer files are handed in as their two ends.
LARGEST = 4 * 1024 * 1024
_END = 1024 * 1024
#: Characters of a job's files that are handed in, about at most; the first ones in the archive's order.
JOB_TEXT = 32 * 1024 * 1024

#: Patterns of paths: what graded the job, what the harness said, and what was asked for.
WANTED = (
    *("verifier/*", "steps/*/verifier/*"),
    *("exception.txt", "trial.log", "agent/session_events.jsonl", "agent/exit_status*", "agent/*.exit"),
    *("trial.json", "sample.json", "report.json", "ground_truth.json"),
)
_NEVER = (
    "*.png",
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.gz",
    "*.tgz",
    "*.zip",
    "*.tar",
    "*.bin",
    "*.mp4",
    "*.cast",
    "*.pyc",
    "*.pt",
    "*.npy",
    "*.so",
)


def wanted(path: str) -> bool:
    """Whether the file at this path of the archive is to be handed in."""
    return any(fnmatchcase(path, pattern) for pattern in WANTED) and not any(fnmatchcase(path, pattern) for pattern in _NEVER)


def file_of(path: str, raw: bytes) -> File:
    """The file as the analysis takes it: UTF-8, what is no UTF-8 replaced; of a long one the two ends."""
    if len(raw) <= LARGEST:
        return File(path=path, text=raw.decode("utf-8", "replace"))
    head, tail = raw[:_END].decode("utf-8", "replace"), raw[-_END:].decode("utf-8", "replace")
    return File(path=path, text=f"{head}\n{tail}", whole=False)


def file_from(path: str, chunks: Iterable[bytes], *, size: int) -> File:
    """As `file_of`, of a file of `size` bytes that comes in pieces: of a long one no more than the two ends is kept."""
    if size <= LARGEST:
        return file_of(path, b"".join(chunks))
    head, tail = bytearray(), bytearray()
    for chunk in chunks:
        head += chunk[: _END - len(head)]
        tail += chunk
        del tail[:-_END]
    return File(path=path, text=f"{head.decode('utf-8', 'replace')}\n{tail.decode('utf-8', 'replace')}", whole=False)


def within(files: Iterable[File]) -> tuple[File, ...]:
    """The first files until they are together as long as is handed in; no more are taken from `files`."""
    taken: list[File] = []
    left = JOB_TEXT
    for file in files:
        taken.append(file)
        left -= len(file.text)
        if left <= 0:
            break
    return tuple(taken)
