"""How sure a share is: Wilson's interval for counts, without any library."""

from __future__ import annotations

import math

_Z = 1.959963984540054


def wilson(count: int, of: int) -> tuple[float, float] | None:
    """The 95 % Wilson interval of `count` successes in `of` trials; None without trials."""
    if of == 0:
        return None
    share, square = count / of, _Z * _Z
    centre = share + square / (2 * of)
    half = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    low, high = (centre - half) / (1 + square / of), (centre + half) / (1 + square / of)
    return (0.0 if count == 0 else max(0.0, low)), (1.0 if count == of else min(1.0, high))
