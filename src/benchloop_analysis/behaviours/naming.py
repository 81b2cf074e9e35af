"""How files are named: one file by several paths, files that are tests, and the files that a task's text names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: A file of tests or specifications, or a folder of them.
TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)(?:/|$)|(?:^|/)(?:test_\w+|\w+_test|conftest|run[_-]?tests?|tests?|\w+\.(?:test|spec)|\w+_spec)\.\w+$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"\.(?:py|pyi|ipynb|c|h|cc|cpp|hpp|cs|rs|go|java|kt|scala|js|jsx|mjs|ts|tsx|vue|rb|php|pl|lua|jl|r|m|sql|sh|bash|ps1|html?|css|scss|xml|json|jsonl|"
    r"ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|tex|pdf|csv|tsv|parquet|npy|npz|pkl|pt|pth|h5|db|sqlite3?|log|out|bin|dat|png|jpe?g|gif|svg|bmp|"
    r"ppm|mp[34]|wav|zip|gz|tgz|tar|xz|7z|bz2|patch|diff|v|asm|s|ml|hs|ex|exs|clj|f90|cob|cbl|red|img|iso|pem|crt|key|service|eml|gcode|fasta|vim|elf|o|so)$",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[./]")
_REST = re.compile(r"[\w./+-]*\w")
_ASKS = re.compile(
    r"\b(?:writ(?:e|es|ten|ing)|sav(?:e|es|ed|ing)|creat(?:e|es|ed|ing)|outputs?|produc(?:e|es|ed|ing)|generat(?:e|es|ed|ing)|stor(?:e|es|ed)|put|"
    r"plac(?:e|ed)|(?<!re-)implement(?:ed|ation|ing)?|called|named|export(?:ed)?|report|answer|results?|compile[sd]?|convert(?:ed)?|provide)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[\s`'\",(]*(?:and|or|,|&)?[\s`'\",)]*\Z")
#: Of a long task, its beginning and its end are read.
_EDGE = 4_000
_MOST_NAMED = 40
_NEAR = 80


def plain(path: str) -> str:
    """The path without what does not matter: `./` before it, a slash behind it."""
    path = path.strip()
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/") if len(path) > 1 else path


def base(path: str) -> str:
    """The last part of a plain path."""
    return path.rpartition("/")[2]


def same(one: str, other: str) -> bool:
    """Whether two plain paths may name one file: they are equal, or one is the end of the other, as a relative path is of an absolute."""
    if one == other:
        return True
    return other.endswith(f"/{one}") if len(one) < len(other) else one.endswith(f"/{other}")


class Names:
    """A set of files that are named in several ways."""

    __slots__ = ("_by_base",)

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._by_base: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Put a plain path in."""
        self._by_base.setdefault(base(path), set()).add(path)

    def __contains__(self, path: str) -> bool:
        known = self._by_base.get(base(path))
        return known is not None and (path in known or any(same(path, one) for one in known))

    def __bool__(self) -> bool:
        return bool(self._by_base)

    def bases(self) -> Iterable[str]:
        """The last parts of all paths."""
        return self._by_base


def named_files(instruction: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that a task's text names: those that it speaks of, and those that it asks for as a result; at most 40 in all.

    A file is asked for where a word such as write, save, create or output stands before it in the same sentence.
    """
    asked: dict[str, bool] = {}
    text = edges(instruction)
    end, before = 0, False
    for start, stop in _places(text):
        path = text[start:stop]
        if (
            "//" in path
            or (path[0] == "." and "/" not in path)
            or not (_SUFFIX.search(path) or (path.startswith("/") and path.count("/") > 1))
        ):
            continue
        between = text[max(end, start - _NEAR) : start]
        joined = bool(end) and start - end <= _NEAR and _JOINED.match(between) is not None
        before = before if joined else _ASKS.search(_sentence(between)) is not None
        end = stop
        path = plain(path)
        asked[path] = asked.get(path, False) or before
        if len(asked) >= _MOST_NAMED:
            break
    wanted = tuple(path for path, is_asked in asked.items() if is_asked)
    return tuple(path for path, is_asked in asked.items() if not is_asked and not any(same(path, one) for one in wanted)), wanted


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where words stand that hold a point or a slash, and no part of an address. Looked for from these signs: most words hold none."""
    at = 0
    while (sign := _SIGN.search(text, at)) is not None:
        rest = _REST.match(text, sign.start())
        if rest is None:
            at = sign.end()
            continue
        start = sign.start()
        while start > at and (text[start - 1].isalnum() or text[start - 1] in "_~+-"):
            start -= 1
        at = rest.end()
        if text[start - 1 : start] not in ("@", ":", "/", ".") and text[at : at + 1] not in ("/", "@"):
            yield start, at


def edges(text: str) -> str:
    """The text, without the middle of a long one."""
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def _sentence(text: str) -> str:
    """What stands behind the last end of a sentence."""
    return re.split(r"[.!?]\s|\n\s*\n", text)[-1]
