"""Long trajectories, generated: seeded, of any number of steps and any size, with errors, circles, colours and phases."""

from __future__ import annotations

import random
from typing import Any

from benchloop_client.contract import trajectory

_PROGRAMS = ("cat src/{0}.py", "grep -rn needle{1} src", "sed -n 1,80p src/{0}.py", "python -m pytest tests/test_{0}.py", "ls -la src")
_WORDS = ("the", "build", "of", "this", "module", "reads", "every", "record", "and", "keeps", "what", "the", "caller", "asked", "for")


def document(job_id: str, group_id: str, *, steps: int, text_bytes: int = 2_200, seed: int = 1, task_id: str = "task") -> bytes:
    """A stamped document with `steps` steps whose tool results hold about `text_bytes` bytes each."""
    chance = random.Random(seed)
    value = {
        "schema_version": trajectory.SCHEMA_VERSION,
        "session_id": "s",
        "agent": {"name": "agent", "version": "1", "model_name": "m"},
        "steps": [_asked(), *(_step(number, chance, text_bytes) for number in range(2, steps + 1))],
    }
    return trajectory.encode(trajectory.stamp(value, job_id=job_id, group_id=group_id, task_id=task_id))


def _asked() -> dict[str, Any]:
    return {"step_id": 1, "timestamp": _time(1), "source": "user", "message": "Mend src/module.py so that its tests pass."}


def _time(number: int) -> str:
    return f"2026-01-{1 + number // 86_400 % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"


def _step(number: int, chance: random.Random, text_bytes: int) -> dict[str, Any]:
    name, arguments = _called(number, chance)
    fails = number % 97 == 0
    chance = random.Random(1) if number % 500 >= 490 else chance
    lines = [f"\x1b[32m{at:5}\x1b[0m {' '.join(chance.choices(_WORDS, k=9))}" for at in range(max(1, text_bytes // 70))]
    if fails:
        lines.append("\x1b[1;31mTraceback (most recent call last):\x1b[0m\nValueError: no such record")
    result = {"source_call_id": f"c{number}", "content": "\n".join(lines), "extra": {"exit_code": int(fails), "is_error": fails}}
    return {
        "step_id": number,
        "timestamp": _time(number),
        "source": "agent",
        "message": f"Step {number}: " + " ".join(chance.choices(_WORDS, k=12)),
        "tool_calls": [{"tool_call_id": f"c{number}", "function_name": name, "arguments": arguments}],
        "observation": {"results": [result]},
        "metrics": {"prompt_tokens": 1000 + number, "completion_tokens": 40},
    }


def _called(number: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    if number % 500 >= 490:
        return "bash", {"command": "ls -la src"}
    if number % 11 == 0:
        return "edit", {"path": f"src/m{number % 40}.py", "old": "a = 1", "new": "a = 2"}
    return "bash", {"command": chance.choice(_PROGRAMS).format(f"m{chance.randrange(40)}", number)}
