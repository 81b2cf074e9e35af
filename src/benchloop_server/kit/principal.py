"""Who asks: every repository function takes one and answers only what lies in its workspace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """The owner of a key: `scopes` out of read, write, admin."""

    workspace_id: str
    user: str
    key_id: str
    scopes: frozenset[str]
