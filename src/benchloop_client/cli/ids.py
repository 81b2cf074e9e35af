"""What a user types as ids: repeated options, comma lists, stdin and files become one list without repeats, or a usage error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import click

from benchloop_client.cli.stdin import read_all
from benchloop_client.contract import ids as contract_ids

#: Says one line to the person at the terminal.
Say = Callable[[str], None]
NO_IDS = "at least one -g/--group or -j/--job is required"


@dataclass(frozen=True, slots=True)
class Targets:
    """What a command is asked about: groups, or jobs, or one download task. Exactly one of the three is given."""

    groups: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    task: str | None = None


def targets(groups: Iterable[str], jobs: Iterable[str], *, task: str | None = None, stdin: TextIO | None, say: Say) -> Targets:
    """Resolve `-g`, `-j` and `--task-id`. Raises `click.BadParameter` for none, for more than one of them, and for a bad id."""
    groups, jobs = tuple(groups), tuple(jobs)
    if task is not None and (groups or jobs):
        raise click.BadParameter("--task-id, -g/--group and -j/--job are mutually exclusive")
    if task is not None:
        return Targets(task=task_id(task))
    if groups and jobs:
        raise click.BadParameter("-g/--group and -j/--job are mutually exclusive")
    if not groups and not jobs:
        raise click.BadParameter(NO_IDS)
    parsed = parse(groups or jobs, kind="group id" if groups else "job id", stdin=stdin, say=say)
    return Targets(groups=parsed) if groups else Targets(jobs=parsed)


def groups_only(resource: str, groups: Iterable[str], jobs: Iterable[str], *, stdin: TextIO | None, say: Say) -> tuple[str, ...]:
    """Resolve the ids of a resource that knows groups only. Raises `click.BadParameter` as `targets` does, and for any job id."""
    found = targets(groups, jobs, stdin=stdin, say=say)
    if found.jobs:
        raise click.BadParameter(f"{resource} does not support -j/--job (job dimension)")
    return found.groups


def parse(values: Iterable[str], kind: str, *, stdin: TextIO | None, say: Say, missing: str | None = NO_IDS) -> tuple[str, ...]:
    """One list of ids in the order given, repeats dropped. A value that is exactly `-` reads stdin; `@NAME`, alone or in a comma list, that
    file; both are split on white space and commas, and signs in them mean nothing. `@@x` is the id `@x`. An empty list is refused with the
    words of `missing`, and fine without.
    """
    found: dict[str, None] = {}
    for part in _parts(list(values), kind, stdin, say):
        found.setdefault(_checked(part, kind))
    if not found and missing is not None:
        raise click.BadParameter(missing)
    return tuple(found)


def task_id(value: str) -> str:
    """A download task's id as typed: trimmed, one value. Raises `click.BadParameter` for separators, `.`, `..`, NUL and nothing."""
    value = value.strip()
    if not value:
        raise click.BadParameter("--task-id must not be empty")
    if value in {".", ".."} or any(char in value for char in "/\\\0"):
        raise click.BadParameter("--task-id must not contain path separators")
    return value


def _parts(values: list[str], kind: str, stdin: TextIO | None, say: Say) -> Iterable[str]:
    if values.count("-") > 1:
        raise click.BadParameter(f"'-' (read each {kind} from stdin) can be given once only")
    for value in values:
        yield from filter(None, _typed(value, kind, stdin, say))


def _typed(value: str, kind: str, stdin: TextIO | None, say: Say) -> Iterator[str]:
    if value == "-":
        yield from read_all(stdin, f"{kind}s", say).replace(",", " ").split()
        return
    for part in value.split(","):
        name = part.strip()
        if name.startswith("@@"):
            yield name[1:]
        elif name.startswith("@"):
            yield from _of_file(name[1:], kind).replace(",", " ").split()
        else:
            yield name


def _of_file(name: str, kind: str) -> str:
    """The text of a file of ids. Raises `click.BadParameter` for one that cannot be read."""
    if not name:
        raise click.BadParameter(f"'@' needs the name of a file of {kind}s")
    try:
        return Path(name).expanduser().read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.BadParameter(f"{name} does not hold {kind}s in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "it is no usable path").lower()
        raise click.BadParameter(f"the file of {kind}s {name!r} cannot be read: {reason} (an id that begins with @ is typed @@)") from None


def _checked(value: str, kind: str) -> str:
    try:
        return contract_ids.check(value, kind)
    except contract_ids.BadId as error:
        raise click.BadParameter(str(error)) from None
