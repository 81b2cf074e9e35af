"""Small jobs with documents, archives and images, and the raw requests of a push, without the client."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from dataclasses import dataclass, field
from typing import Any

from benchloop_client.contract import trajectory
from benchloop_client.contract.compression import frame
from tests.support.served import Served

#: The gzip member that ends an archive.
END = gzip.compress(b"\0" * 1024, mtime=0)


def sha(data: bytes) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(data).hexdigest()


def archive(files: dict[str, bytes]) -> bytes:
    """A `.tgz` as our client packs it."""
    members = []
    for name, content in sorted(files.items()):
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o644
        members.append(gzip.compress(info.tobuf(tarfile.PAX_FORMAT) + content + b"\0" * (-len(content) % 512), mtime=0))
    return b"".join([*members, END])


def document(job_id: str, group_id: str, *, task_id: str = "task", steps: int = 3, text: str = "hello") -> bytes:
    """A stamped document with `steps` steps."""
    value = {
        "schema_version": trajectory.SCHEMA_VERSION,
        "session_id": "s",
        "agent": {"name": "agent", "version": "1", "model_name": "m"},
        "steps": [
            {
                "step_id": n + 1,
                "timestamp": "2026-01-02T03:04:05Z",
                "source": "agent",
                "message": f"{text} {n}",
                "tool_calls": [{"tool_call_id": f"c{n}", "function_name": "bash", "arguments": {"command": "ls"}}],
                "observation": {"results": [{"source_call_id": f"c{n}", "content": "ünï\n"}]},
                "metrics": {"prompt_tokens": 10, "completion_tokens": 2},
            }
            for n in range(steps)
        ],
    }
    return trajectory.encode(trajectory.stamp(trajectory.normalise(value).document, job_id=job_id, group_id=group_id, task_id=task_id))


@dataclass
class Sent:
    """A job to push: what each part holds, plain. `media` maps a name to (type, bytes)."""

    job_id: str
    group_id: str = "g1"
    task_id: str = "task"
    document: bytes | None = None
    archive: bytes | None = None
    reward: float = 1.0
    media: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def upsert(self) -> dict[str, Any]:
        """The job's entry in `JobsUpsert`."""
        contents = {"trajectory": self.document, "archive": self.archive}
        body: dict[str, Any] = {
            "job_id": self.job_id,
            "facts": {"trial_key": self.job_id, "task_id": self.task_id, "status": "completed", "reward": self.reward},
            **{kind: {"sha256": sha(data), "size": len(data)} for kind, data in contents.items() if data is not None},
            "media": [
                {"sha256": sha(data), "size": len(data), "mime_type": kind, "name": name} for name, (kind, data) in self.media.items()
            ],
        }
        return {**body, "fingerprint": sha(json.dumps(body).encode())}

    def items(self) -> list[bytes]:
        """The job's uploads as items of a bundle; the trajectory compressed."""
        found = [item("archive", self.archive)] if self.archive is not None else []
        if self.document is not None:
            found.append(item("trajectory", self.document, body=frame(self.document), encoding="zstd"))
        return found + [item("media", data) for _, data in self.media.values()]


def item(kind: str, plain: bytes, *, body: bytes | None = None, encoding: str | None = None, **changes: Any) -> bytes:
    """One item of a bundle."""
    body = plain if body is None else body
    header = {"kind": kind, "sha256": sha(plain), "size": len(plain), "length": len(body), "encoding": encoding, **changes}
    return json.dumps(header).encode() + b"\n" + body


def bundle(served: Served, *items: bytes, workspace: str = "default", **options: Any) -> Any:
    """Send a bundle; the answer."""
    return served.request("POST", "/openapi/uploads", body=b"".join(items), workspace=workspace, **options)


def push(served: Served, *jobs: Sent, workspace: str = "default") -> None:
    """Make the groups, send the uploads, commit the jobs; asserts that each step is accepted."""
    for group_id in dict.fromkeys(job.group_id for job in jobs):
        assert served.request("PUT", f"/openapi/groups/{group_id}", json={"name": group_id}, workspace=workspace).status == 200
        mine = [job for job in jobs if job.group_id == group_id]
        answer = bundle(served, *(each for job in mine for each in job.items()), workspace=workspace)
        assert answer.status == 200, answer.data
        body = {"jobs": [job.upsert() for job in mine]}
        answer = served.request("POST", f"/openapi/groups/{group_id}/jobs", json=body, workspace=workspace)
        assert answer.status == 200, answer.data
