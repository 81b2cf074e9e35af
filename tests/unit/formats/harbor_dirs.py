"""Small Harbor directories for tests, written file by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchloop_client.formats.detect import open_run
from benchloop_client.formats.records import ReadOptions, Rejected, RunGroup, RunJob

JOB_ID = "11111111-2222-3333-4444-555555555555"


def write(path: Path, value: Any) -> Path:
    """Write JSON, text or bytes, making the folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
    path.write_bytes(data)
    return path


def write_job(folder: Path, *, agents: tuple[tuple[str, str | None], ...] = (("coder", "model-a"),), **result: Any) -> Path:
    """A job's own files."""
    entries = [{"name": name, "model_name": model} for name, model in agents]
    write(folder / "config.json", {"job_name": "nightly", "n_attempts": 1, "agents": entries, "datasets": [{"name": "house"}]})
    write(folder / "result.json", {"id": JOB_ID, "n_total_trials": 4, "stats": {}, **result})
    return folder


def config(name: str, agent: str = "coder", model: str | None = "model-a") -> dict[str, Any]:
    task = name.partition("__")[0]
    return {
        "trial_name": name,
        "task": {"path": f"/tasks/{task}", "source": "house"},
        "agent": {"name": agent, "model_name": model},
        "job_id": JOB_ID,
    }


def result(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{name}",
        "task_name": name.partition("__")[0],
        "trial_name": name,
        "source": "house",
        "agent_info": {"name": "coder", "version": "1.2", "model_info": None},
        "agent_result": {"n_input_tokens": 10, "n_cache_tokens": None, "n_output_tokens": 2, "cost_usd": None},
        "verifier_result": {"rewards": {"reward": 1.0}},
        "exception_info": None,
        "started_at": "2026-01-01T10:00:00.5Z",
        "finished_at": "2026-01-01T11:00:00+01:00",
        **more,
    }


def write_trial(folder: Path, name: str, *, agent: str = "coder", model: str | None = "model-a", **more: Any) -> Path:
    """A finished trial."""
    trial = folder / name
    own = config(name, agent, model)
    write(trial / "config.json", own)
    write(trial / "result.json", result(name, config=own, **more))
    return trial


def trajectory(*texts: str, **more: Any) -> dict[str, Any]:
    steps = [{"step_id": place, "source": "agent", "message": text} for place, text in enumerate(texts, 1)]
    return {"schema_version": "ATIF-v1.5", "agent": {"name": "coder", "version": "1"}, "steps": steps, **more}


def read(path: Path, **options: Any) -> tuple[list[RunJob], list[Rejected]]:
    """Everything in the one group at `path`."""
    (group,) = groups(path, **options)
    return read_group(group)


def groups(path: Path, *, format: str = "auto", **options: Any) -> tuple[RunGroup, ...]:  # noqa: A002
    return open_run(path, format=format, options=ReadOptions(**options)).groups


def read_group(group: RunGroup) -> tuple[list[RunJob], list[Rejected]]:
    found = list(group.jobs())
    return [item for item in found if isinstance(item, RunJob)], [item for item in found if isinstance(item, Rejected)]


def messages(job: RunJob) -> list[Any]:
    """The messages of a job's trajectory."""
    assert job.trajectory is not None
    return [step["message"] for step in job.trajectory().document["steps"]]
