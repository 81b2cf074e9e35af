"""Harbor job directories, current and legacy: where jobs and trials lie, what a result says, and how its trajectories are joined."""

from __future__ import annotations

READER = "harbor"
#: Raise when the same directory would give other records than before.
READER_VERSION = 1
