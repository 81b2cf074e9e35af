"""Harbor run directories as runs: one group for each agent and model in a job, trials read one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from benchloop_client.contract.ids import mint_group_id, slug
from benchloop_client.contract.resources import GroupUpsert, Source
from benchloop_client.formats.documents import Recent
from benchloop_client.formats.harbor import READER, READER_VERSION
from benchloop_client.formats.harbor.layout import (
    AgentKey,
    TrialRef,
    agent_key,
    find_jobs,
    folders,
    is_trial,
    linked_folders,
)
from benchloop_client.formats.harbor.trial import read_trial, trial_source
from benchloop_client.formats.jsonfile import Unreadable, count, find_object, listing, mapping, text
from benchloop_client.formats.records import JobSource, ReadOptions, Rejected, Run, RunGroup, RunJob, Share, Shared, UnreadableRun
from benchloop_client.formats.times import utc

#: More than the trials of any job directory.
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class _Job:
    """The files of a run directory, parsed; the unreadable ones are empty and named in `unreadable`."""

    folder: Path
    config: dict[str, Any]
    lock: dict[str, Any]
    result: dict[str, Any]
    unreadable: tuple[str, ...]

    @property
    def name(self) -> str:
        return text(self.config.get("job_name")) or self.folder.resolve().name


def open_harbor(path: Path, options: ReadOptions) -> Run:
    """The groups of every Harbor job at or below `path`. Raises `UnreadableRun` when there is none."""
    jobs = list(find_jobs(path))
    if not jobs:
        if path.is_dir() and is_trial(path):
            raise UnreadableRun(f"{path} is a single Harbor trial; give the run directory it lies in")
        raise UnreadableRun(f"{path} holds no Harbor job: no folder in it has a job's config.json, result.json or trials")
    return Run("harbor", _merged([group for folder in jobs for group in _groups_of(folder, options)]))


def _merged(groups: list[RunGroup]) -> tuple[RunGroup, ...]:
    """Groups of several jobs that a `--group` gives one id are one group: what each planned is added up."""
    by_id: dict[str, list[RunGroup]] = {}
    for group in groups:
        by_id.setdefault(group.group_id, []).append(group)
    return tuple(same[0] if len(same) == 1 else _one_of(same) for same in by_id.values())


def _one_of(groups: list[RunGroup]) -> RunGroup:
    plans = [group.facts.expected for group in groups]
    expected = sum(plan for plan in plans if plan is not None) if None not in plans else None
    facts = msgspec.structs.replace(groups[0].facts, expected=expected)

    def share(wanted: Share) -> Iterator[tuple[int, RunJob | Rejected]]:
        for number, group in enumerate(groups):
            yield from ((number * _FAR + index, job) for index, job in group.shared(wanted))

    listed = [group.sources for group in groups if group.sources is not None]
    sources = partial(_one_after_another, listed) if len(listed) == len(groups) else None
    return RunGroup(groups[0].group_id, facts, lambda: chain.from_iterable(group.jobs() for group in groups), share, sources=sources)


def _one_after_another(listed: list[Callable[[], Iterator[JobSource]]]) -> Iterator[JobSource]:
    return chain.from_iterable(sources() for sources in listed)


def _groups_of(folder: Path, options: ReadOptions) -> list[RunGroup]:
    job = _open_job(folder)
    trials, rejected = _trials(job)
    run_id = _run_id(job, trials)
    planned = _plan(job)
    keys = _keys(trials, planned)
    several = len(keys) > 1
    groups = []
    for position, key in enumerate(keys):
        own = [trial for trial in trials if trial.key == key] if several else trials
        facts = _group_facts(job, key, run_id, _expected(job, key, planned, several), options)
        entries: list[Rejected | TrialRef] = [*(rejected if position == 0 else []), *own]
        share = partial(_read_share, entries, run_id, options)
        read, listed = partial(_read, share), partial(_sources, own, options)
        groups.append(RunGroup(_group_id(job, key, run_id, several, options), facts, read, share, _all_differ(own), listed))
    return groups


def _read(share: Shared) -> Iterator[RunJob | Rejected]:
    return (job for _, job in share(Share()))


def _read_share(
    entries: list[Rejected | TrialRef], run_id: str, options: ReadOptions, share: Share
) -> Iterator[tuple[int, RunJob | Rejected]]:
    recent = Recent()
    for index, entry in enumerate(entries):
        if not share.takes(index):
            continue
        found = iter((entry,)) if isinstance(entry, Rejected) else read_trial(entry, run_id, options, recent)
        yield from ((index, job) for job in found)


def _all_differ(trials: list[TrialRef]) -> bool:
    """Whether no two trials can be of one task: Harbor begins a trial's name with that of its task."""
    return len({trial.name.rpartition("__")[0] for trial in trials}) == len(trials)


def _sources(trials: list[TrialRef], options: ReadOptions) -> Iterator[JobSource]:
    return (trial_source(trial, options) for trial in trials)


def _open_job(folder: Path) -> _Job:
    parsed: dict[str, dict[str, Any]] = {}
    unreadable = []
    for name in ("config.json", "lock.json", "result.json"):
        try:
            parsed[name] = find_object(folder / name) or {}
        except Unreadable as error:
            parsed[name] = {}
            unreadable.append(f"{name} {error}")
    return _Job(folder, parsed["config.json"], parsed["lock.json"], parsed["result.json"], tuple(unreadable))


def _trials(job: _Job) -> tuple[list[TrialRef], list[Rejected]]:
    """Trial folders, then the results that only a legacy job result embeds; and what looks like a trial and cannot be read as one."""
    refs: list[TrialRef] = []
    rejected = [Rejected(name, "a link to a folder is not followed") for name in linked_folders(job.folder)]
    rejected += [Rejected(str(problem.partition(" ")[0]), f"the job's {problem}") for problem in job.unreadable]
    keys: dict[AgentKey, AgentKey] = {}
    for folder in folders(job.folder):
        key = _key_of(folder)
        if key is not None:
            refs.append(TrialRef(folder.name, job.folder, keys.setdefault(key, key)))
        elif "__" in folder.name:
            rejected.append(Rejected(folder.name, "neither config.json nor result.json of a trial can be read in it"))
    there = {ref.name for ref in refs}
    for entry in listing(job.result.get("trial_results")):
        name = text(mapping(entry).get("trial_name"))
        if name is not None and name not in there:
            refs.append(TrialRef(name, None, _embedded_key(mapping(entry)), mapping(entry)))
    return refs, rejected


def _key_of(folder: Path) -> AgentKey | None:
    """The agent and model of a trial folder, None when it is no trial."""
    for name in ("config.json", "result.json"):
        try:
            value = find_object(folder / name) or {}
        except Unreadable:
            continue
        if name == "config.json" and "trial_name" in value:
            return agent_key(value)
        if name == "result.json" and ("trial_name" in value or "task_name" in value):
            return _embedded_key(value)
    return None


def _embedded_key(result: dict[str, Any]) -> AgentKey:
    config = mapping(result.get("config"))
    key = agent_key(config)
    return key if key.agent else AgentKey(text(mapping(result.get("agent_info")).get("name")), key.model)


def _plan(job: _Job) -> Counter[AgentKey]:
    """How many trials the run's own lock plans for each agent and model; where there is no lock, the keys alone."""
    planned = Counter(agent_key(mapping(trial)) for trial in listing(job.lock.get("trials")))
    for agent in listing(job.config.get("agents")):
        planned[agent_key({"agent": agent})] += 0
    return planned


def _keys(trials: list[TrialRef], planned: Counter[AgentKey]) -> list[AgentKey]:
    """The groups of a job: everything planned, so that their names do not change while trials arrive, and everything found."""
    found = dict.fromkeys(trial.key for trial in trials)
    if len(planned) <= 1 and len(found) == 1:
        return list(found)
    keys = list(dict.fromkeys([*planned, *found])) or [AgentKey(None, None)]
    return sorted(keys, key=lambda key: (key.agent or "", key.model or ""))


def _expected(job: _Job, key: AgentKey, planned: Counter[AgentKey], several: bool) -> int | None:
    """Trials that the run planned for this group: its total, or the lock's share of it."""
    total = count(job.result.get("n_total_trials"))
    if not several:
        return total if total is not None else sum(planned.values()) or None
    if planned[key]:
        return planned[key]
    return total // len(planned) if total is not None and len(planned) > 1 and total % len(planned) == 0 else None


def _run_id(job: _Job, trials: list[TrialRef]) -> str:
    """The job's id, which each trial's configuration repeats from its start, so it is known before the job's result is."""
    own = text(job.result.get("id"))
    if own:
        return own
    for trial in trials:
        if trial.folder is not None:
            try:
                found = text((find_object(trial.folder / "config.json") or {}).get("job_id"))
            except Unreadable:
                continue
            if found:
                return found
    return job.name


def _group_id(job: _Job, key: AgentKey, run_id: str, several: bool, options: ReadOptions) -> str:
    agent, model = (key.agent, key.model) if several else (None, None)
    if options.group is None:
        return mint_group_id(job.name, run_id, agent=agent, model=model)
    parts = [options.group, *(slug(part, 28) for part in (agent, model) if part)]
    return "--".join(parts)


def _group_facts(job: _Job, key: AgentKey, run_id: str, expected: int | None, options: ReadOptions) -> GroupUpsert:
    stats = mapping(job.result.get("stats"))
    extra = {
        "n_attempts": job.config.get("n_attempts"),
        "datasets": [_dataset(entry) for entry in listing(job.config.get("datasets"))] or None,
        "harbor_version": mapping(job.lock.get("harbor")).get("version"),
        "n_total_trials": job.result.get("n_total_trials"),
        "n_retries": stats.get("n_retries"),
        "expected_by_step": {str(options.step): expected} if options.step is not None else None,
    }
    return GroupUpsert(
        name=job.name if options.step is None else options.group or job.name,
        run_id=run_id,
        benchmark=options.benchmark or _benchmark(job),
        model=options.model or key.model,
        agent=key.agent,
        # A run that is one training step among several does not know what the whole group plans.
        expected=expected if options.step is None else None,
        # Harbor's own job times carry no zone; the lock, written when the job starts, does.
        started_at=utc(job.result.get("started_at")) or utc(job.lock.get("created_at")),
        finished_at=utc(job.result.get("finished_at")),
        source=Source(format="harbor", reader=READER, reader_version=READER_VERSION, location=job.folder.name),
        extra={name: value for name, value in extra.items() if value is not None},
    )


def _dataset(entry: Any) -> dict[str, Any]:
    kept = ("name", "version", "ref", "repo", "n_tasks")
    named = {key: mapping(entry)[key] for key in kept if mapping(entry).get(key) is not None}
    path = text(mapping(entry).get("path"))
    return named if "name" in named or path is None else {"name": PurePosixPath(path).name, **named}


def _benchmark(job: _Job) -> str | None:
    """The datasets that the job was configured with, by name."""
    names = [text(_dataset(entry).get("name")) for entry in listing(job.config.get("datasets"))]
    return ", ".join(dict.fromkeys(name for name in names if name)) or None
