"""The order of version numbers: release, then a/b/rc, `.devN` and `.postN`; the local part does not count, epochs are not understood."""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"""\s*v?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?
    (?:(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))|-(?P<post_only>\d+))?
    (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?
    (?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_NO_PRE, _BEFORE_PRE = 3, -1
_BOUND = re.compile(r"(>=|<=|>|<)\s*(\d+(?:\.\d+)*)$", re.ASCII)

#: Compares as the versions do.
Key = tuple[tuple[int, ...], tuple[int, int], int, tuple[int, int]]


def key(version: str) -> Key | None:
    """What a version sorts by; None for one that is not understood."""
    found = _VERSION.fullmatch(version)
    # Very long numbers are no versions, and Python refuses to read them.
    if found is None or len(version) > 100:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    post = int(found["post_n"] or found["post_only"] or 0) if found["post"] or found["post_only"] else -1
    dev = (0, int(found["dev_n"] or 0)) if found["dev"] else (1, 0)
    if found["pre"]:
        pre = (_PRE[found["pre"].lower()], int(found["pre_n"] or 0))
    else:
        pre = (_BEFORE_PRE if found["dev"] and post < 0 else _NO_PRE, 0)
    return tuple(release), pre, post, dev


def newer(candidate: str, current: str) -> bool:
    """True if both are understood and `candidate` comes after `current`."""
    theirs, ours = key(candidate), key(current)
    return theirs is not None and ours is not None and theirs > ours


def preliminary(version: str) -> bool:
    """True for alphas, betas, candidates and development versions."""
    found = key(version)
    return found is not None and (found[1][0] != _NO_PRE or found[3][0] == 0)


def suits(requirement: str, python: tuple[int, ...]) -> bool:
    """False if a `Requires-Python` certainly excludes this Python; bounds of other kinds than <, <=, > and >= are not looked at."""
    for part in requirement.split(","):
        bound = _BOUND.fullmatch(part.strip())
        if bound is None:
            continue
        limit = tuple(int(number) for number in bound[2].split("."))
        ours = python[: len(limit)] if bound[1] in {">=", "<"} else python
        if not {">=": ours >= limit, "<": ours < limit, ">": ours > limit, "<=": ours <= limit}[bound[1]]:
            return False
    return True
