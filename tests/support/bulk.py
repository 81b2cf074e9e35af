"""Reading bulk bodies by hand, without the client."""

from __future__ import annotations

import hashlib
import json
from typing import Any

Item = tuple[dict[str, Any], bytes]


def items(body: bytes) -> list[Item]:
    """Each item's line and bytes; asserts that nothing is left over and that every digest is right."""
    found: list[Item] = []
    at = 0
    while at < len(body):
        end = body.index(b"\n", at)
        line = json.loads(body[at:end])
        at = end + 1 + line["length"]
        content = body[end + 1 : at]
        assert len(content) == line["length"]
        assert hashlib.sha256(content).hexdigest() == line["sha256"]
        found.append((line, content))
    return found
