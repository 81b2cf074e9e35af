"""Result lists of tau-bench: a JSON array with one record for each (task, trial), read one at a time from a file of any length."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from benchloop_client.contract.ids import mint_group_id
from benchloop_client.contract.resources import TRAJECTORY_PROBLEM, GroupUpsert, JobFacts, Source
from benchloop_client.contract.trajectory import InvalidTrajectory, Normal, normalise
from benchloop_client.formats.documents import Kept, Recent
from benchloop_client.formats.jsonfile import count, listing, mapping, number, text
from benchloop_client.formats.records import ReadOptions, Rejected, Run, RunFile, RunGroup, RunJob, Share, UnreadableRun
from benchloop_client.formats.tau_messages import to_steps

READER = "tau"
#: Raise when the same file would give other records than before.
READER_VERSION = 1

_PIECE = 1024 * 1024
_RECORD_LIMIT = 256 * 1024 * 1024
_HARNESS_NAME = re.compile(
    r"(?P<strategy>tool-calling|act|react|few-shot)-(?P<model>.+)-(?P<temperature>[0-9.]+)_range_(?P<range>-?[0-9]+-+[0-9]+)"
    r"_user-(?P<user_model>.+)-(?P<user_strategy>llm|react|verify|reflection|human)_(?P<time>[0-9]+)\Z"
)
_SHORT_NAME = re.compile(r"(?P<model>.+?)[-_](?P<domain>airline|retail|telecom)\Z")
_EXCEPTION_LINE = re.compile(r"([A-Za-z_][\w.]*)(?::|\Z)")


class _Torn(ValueError):
    """The list ends in the middle of a record, or is no list; the message says where."""


@dataclass(frozen=True, slots=True)
class _Named:
    """What only the file's name tells; None where it does not."""

    model: str | None = None
    domain: str | None = None
    strategy: str | None = None
    temperature: float | None = None
    user_model: str | None = None
    user_strategy: str | None = None


@dataclass(frozen=True, slots=True)
class _Context:
    """What all records of one file share."""

    run_id: str
    named: _Named
    options: ReadOptions


def is_tau(path: Path) -> bool:
    """Whether the file is a list whose first record is one of tau-bench."""
    if not path.is_file():
        return False
    try:
        first = next(_records(path), None)
    except (OSError, _Torn):
        return False
    return first is not None and _is_record(first[1])


def open_tau(path: Path, options: ReadOptions) -> Run:
    """The one group of a result list. Its id comes from the file's name and first record, so it stays while the list grows.

    Raises `UnreadableRun` when the file is no such list.
    """
    try:
        first = next(_records(path), None)
    except OSError as error:
        raise UnreadableRun(f"{path} cannot be read: {error.strerror or error}") from None
    except _Torn as error:
        raise UnreadableRun(f"{path}: {error}") from None
    if first is None or not _is_record(first[1]):
        raise UnreadableRun(f"{path} is no tau-bench result list: its first record has no task_id, reward and traj")
    named = parse_name(path.stem)
    run_id = hashlib.sha256(first[0].encode("utf-8", "replace")).hexdigest()[:16]
    facts = GroupUpsert(
        name=path.stem,
        run_id=run_id,
        benchmark=options.benchmark or ("tau-bench" if named.domain is None else f"tau-bench {named.domain}"),
        model=options.model or named.model,
        agent=named.strategy,
        source=Source(format="tau", reader=READER, reader_version=READER_VERSION, location=path.name),
        extra={key: value for key, value in _named_extra(named).items() if value is not None},
    )
    group_id = options.group or mint_group_id(path.stem, f"{path.stem}/{run_id}")
    context = _Context(run_id, named, options)
    return Run("tau", (RunGroup(group_id, facts, partial(_read, path, context), partial(_read_share, path, context)),))


def parse_name(stem: str) -> _Named:
    """Model, strategy and user model from the name that tau-bench gives its result files, or the short `<model>-<domain>`."""
    match = _HARNESS_NAME.match(stem)
    if match is not None:
        return _Named(
            model=match["model"],
            strategy=match["strategy"],
            temperature=float(match["temperature"]),
            user_model=match["user_model"],
            user_strategy=match["user_strategy"],
        )
    match = _SHORT_NAME.match(stem)
    return _Named(model=match["model"], domain=match["domain"]) if match is not None else _Named()


def _named_extra(named: _Named) -> dict[str, Any]:
    return {"user_model": named.user_model, "user_strategy": named.user_strategy, "temperature": named.temperature, "domain": named.domain}


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and "task_id" in value and "reward" in value and isinstance(value.get("traj"), list)


def _read(path: Path, context: _Context) -> Iterator[RunJob | Rejected]:
    return (job for _, job in _read_share(path, context, Share()))


def _read_share(path: Path, context: _Context, share: Share) -> Iterator[tuple[int, RunJob | Rejected]]:
    seen: set[str] = set()
    recent = Recent()
    position = 0
    try:
        for position, (raw, value) in enumerate(_records(path), 1):
            index, place = position - 1, f"{path.name}[{position - 1}]"
            problem = _problem(value, seen)
            if share.takes(index):
                found = _job((raw, value), place, context, recent) if problem is None else iter((Rejected(place, problem),))
                yield from ((index, job) for job in found)
    except _Torn as error:
        if share.takes(position):
            yield position, Rejected(f"{path.name}[{position}]", str(error))


def _problem(value: Any, seen: set[str]) -> str | None:
    """Why a record is not taken; a record that is taken is then `seen`."""
    if not _is_record(value):
        return "no tau-bench record: task_id, reward or traj is missing"
    key = f"{value['task_id']}/{value.get('trial', 0)}"
    if key in seen:
        return f"task {value['task_id']} trial {value.get('trial', 0)} was there before"
    seen.add(key)
    return None


def _job(record: tuple[str, dict[str, Any]], location: str, context: _Context, recent: Recent) -> Iterator[RunJob | Rejected]:
    archived, value = record[0].encode("utf-8", "replace"), record[1]
    trajectory, problem = None, None
    if value["traj"]:
        try:
            trajectory = Kept(_Reading(archived, value, context))
            recent.add(trajectory, len(archived))
        except InvalidTrajectory as error:
            problem = f"traj: {error}"
            yield Rejected(location, f"the trajectory is left out: {error}")
    facts = _facts(value, trajectory() if trajectory is not None else None, location, context)
    if problem is not None:
        facts = msgspec.structs.replace(facts, meta={**facts.meta, TRAJECTORY_PROBLEM: problem})
    yield RunJob(facts, trajectory, (RunFile("trial.json", archived, len(archived)),), (), location)


class _Reading:
    """Makes a record's document, the first time of the record as it was parsed just now, later of its text."""

    def __init__(self, archived: bytes, value: dict[str, Any], context: _Context) -> None:
        self._archived, self._context = archived, context
        self._value: dict[str, Any] | None = value

    def __call__(self) -> Normal:
        value, self._value = self._value, None
        return _trajectory(json.loads(self._archived) if value is None else value, self._context)


def _trajectory(value: dict[str, Any], context: _Context) -> Normal:
    named = context.named
    extra = {key: item for key, item in {"strategy": named.strategy, **_named_extra(named)}.items() if item is not None}
    agent = {"name": "tau-bench", "version": "unknown", "model_name": context.options.model or named.model, "extra": extra or None}
    return normalise({"agent": agent, "steps": to_steps(value["traj"])})


def _facts(value: dict[str, Any], normal: Normal | None, location: str, context: _Context) -> JobFacts:
    """The facts of a record.

    `task_id` is tau-bench's number as text, `attempt_order` its `trial`, `template` the domain where the file's name tells it. A crashed
    trial is written with reward 0.0 by the harness, though nothing was graded: it has an error here and no reward.
    """
    info, options = mapping(value.get("info")), context.options
    crashed = "error" in info and (not value["traj"] or "reward_info" not in info)
    reward = None if crashed else number(value["reward"])
    trial = count(value.get("trial"))
    key = f"{context.run_id}/{value['task_id']}/{value.get('trial', 0)}"
    return JobFacts(
        trial_key=key if options.step is None else f"step {options.step}/{key}",
        task_id=str(value["task_id"]),
        instance_id=str(value["task_id"]),
        template=context.named.domain,
        status="completed",
        step=options.step,
        attempt_order=trial,
        model=options.model or context.named.model,
        agent=context.named.strategy,
        error_type=_error_type(info) if crashed else None,
        error_message=str(info["error"])[:4000] if crashed else None,
        reward=reward,
        reward_key="reward",
        rewards={"reward": reward},
        reward_valid=False if crashed else None,
        source=Source(format="tau", reader=READER, reader_version=READER_VERSION, location=location),
        meta=_meta(value, info, normal),
    )


def _error_type(info: dict[str, Any]) -> str:
    """The exception's class: from the traceback's last line, else from the message if it begins with one."""
    lines = [line.strip() for line in str(info.get("traceback") or "").splitlines() if line.strip()]
    for line in (*lines[-1:], str(info["error"])):
        match = _EXCEPTION_LINE.match(line)
        name = match.group(1).rpartition(".")[2] if match else ""
        if name.endswith(("Error", "Exception", "Timeout", "Interrupt")):
            return name
    return "UnknownError"


def _meta(value: dict[str, Any], info: dict[str, Any], normal: Normal | None) -> dict[str, Any]:
    task, reward_info = mapping(info.get("task")), mapping(info.get("reward_info"))
    meta = {
        "trial": value.get("trial"),
        "n_messages": len(value["traj"]),
        "user_id": text(task.get("user_id")),
        "user_cost_usd": number(info.get("user_cost")),
        "ended_by": text(info.get("source")),
        "reward_info": reward_info.get("info"),
        "n_expected_actions": len(listing(task.get("actions"))) if task else None,
        "lossy": list(normal.lossy) if normal is not None and normal.lossy else None,
    }
    return {key: item for key, item in meta.items() if item is not None}


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Each element of the top-level array with its own text; memory holds one element and a window. Raises `_Torn`."""
    with path.open("rb") as stream:
        window = _Window(stream)
        if window.next_sign() != "[":
            raise _Torn("no JSON list")
        window.skip()
        if window.next_sign() == "]":
            return
        while True:
            yield window.element()
            sign = window.next_sign()
            if sign not in {",", "]"}:
                raise _Torn("the list ends too early" if not sign else f"{sign!r} stands where a comma should")
            window.skip()
            if sign == "]":
                return


class _Window:
    """A sliding piece of a text file, longer only while one element does not fit."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._json = json.JSONDecoder(strict=False)
        self._text = ""
        self._at = 0
        self._ended = False

    def next_sign(self) -> str:
        """The next character that is no blank, which is not consumed; empty at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def skip(self) -> None:
        """Consume one character."""
        self._at += 1

    def element(self) -> tuple[str, Any]:
        """The next JSON value and its text, consumed."""
        self.next_sign()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise _Torn("a record is nested too deeply") from None
            except ValueError as error:
                if len(self._text) - self._at > _RECORD_LIMIT:
                    raise _Torn(f"a record is larger than {_RECORD_LIMIT} characters") from None
                if not self._more():
                    raise _Torn(f"a record cannot be read: {error}") from None
                continue
            raw = self._text[self._at : end]
            self._at = end
            return raw, value

    def _more(self) -> bool:
        """Read on; the piece doubles while an element does not fit, so that reading it again and again stays cheap."""
        if self._ended:
            return False
        self._text = self._text[self._at :]
        self._at = 0
        data = self._stream.read(max(_PIECE, len(self._text)))
        self._ended = not data
        self._text += self._decoder.decode(data, final=self._ended)
        return True
