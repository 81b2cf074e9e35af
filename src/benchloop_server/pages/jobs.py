"""The job list of a group: filters with counts, columns by choice, any order, and what is chosen frozen into a download task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from litestar.handlers import HTTPRouteHandler

from benchloop_server.features.downloads import service as downloads
from benchloop_server.features.groups import service as groups
from benchloop_server.features.jobs import shapes
from benchloop_server.features.listing import service as listing
from benchloop_server.features.listing.service import FACETS, RANGES, JobQuery
from benchloop_server.kit.clock import format_time
from benchloop_server.kit.conditions import Conditions, Range
from benchloop_server.kit.errors import unprocessable
from benchloop_server.pages import formatting
from benchloop_server.pages.page import Asked, Crumb, Done, Fragment, Page, Pairs, changed, command, path_of, with_query
from benchloop_server.pages.routing import action, page

_ROWS = 50
_MOST_ROWS = 200
_MOST_CHOSEN = 1_000
_MICROS = 1_000_000

LABELS = {
    "outcome": "Outcome",
    "fail_reason": "Reason",
    "sub_fail_reason": "Sub-reason",
    "reward_valid": "Validity",
    "error_type": "Error",
    "status": "Status",
    "model": "Model",
    "agent": "Agent",
    "step": "Step",
    "task_id": "Task",
    "template": "Template",
    "instance_id": "Instance",
    "reward": "Reward",
    "cost_usd": "Cost",
    "tokens": "Tokens",
    "duration": "Duration",
    "n_steps": "Steps taken",
    "started_at": "Started",
}
_UNITS = {"cost_usd": "US dollars", "duration": "seconds", "started_at": "UTC", "reward": "", "tokens": "tokens", "n_steps": "steps"}
#: What the values of these facts are called where their own word would say nothing.
_WORDS: Mapping[str, Mapping[Any, str]] = {
    "reward_valid": {True: "valid", False: "invalid", None: "not known"},
    "outcome": {None: "not ended"},
    "fail_reason": {None: "no reason"},
    "sub_fail_reason": {None: "no sub-reason"},
    "error_type": {None: "no error"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table; `sortable` ones name an order of the list."""

    name: str
    label: str
    title: str = ""
    numeric: bool = False
    sortable: bool = True
    usual: bool = True


COLUMNS: tuple[Column, ...] = (
    Column(name="job_id", label="Job"),
    Column(name="task_id", label="Task"),
    Column(name="step", label="Step", title="Training step", numeric=True),
    Column(name="attempt", label="Attempt", title="Attempts at a task and step, numbered by their start", numeric=True),
    Column(name="outcome", label="Outcome"),
    Column(name="fail_reason", label="Reason", title="Why it failed, as the analysis says; empty before and for jobs that passed"),
    Column(name="reward", label="Reward", title="The primary reward", numeric=True),
    Column(name="cost_usd", label="Cost", title="US dollars, as the source recorded", numeric=True),
    Column(name="tokens", label="Tokens", title="Input and output tokens together", numeric=True),
    Column(name="duration", label="Duration", title="From start to finish", numeric=True),
    Column(name="n_steps", label="Steps taken", title="Steps of the trajectory", numeric=True),
    Column(name="model", label="Model"),
    Column(name="agent", label="Agent", usual=False),
    Column(name="error_type", label="Error", usual=False),
    Column(name="status", label="Status", usual=False),
    Column(name="template", label="Template", sortable=False, usual=False),
    Column(name="instance_id", label="Instance", sortable=False, usual=False),
    Column(name="started_at", label="Started", numeric=True),
    Column(
        name="created_at",
        label="Arrived",
        title="When the server first had it; the order of the list unless you choose another",
        numeric=True,
        usual=False,
    ),
)


def jobs(asked: Asked) -> Page:
    """The list."""
    group_id = asked.ids["group_id"]
    query = listing.parse(group_id, asked.query)
    limit = asked.whole("limit", _ROWS, most=_MOST_ROWS)
    after, before = asked.one("after") or None, asked.one("before") or None
    found = listing.page(asked.services, asked.principal, query, limit=limit, after=after, before=before)
    group = groups.get(asked.services, asked.principal, group_id)
    shown = _columns(asked, stepped=bool(group.steps))
    return Page(
        template="jobs.html",
        title="Jobs",
        line=f"{formatting.number(found.total)} of {formatting.number(group.present)} jobs fit" if query.is_filtered else "",
        crumbs=[Crumb("Groups", "/groups"), Crumb(group.name, path_of("groups", group_id)), Crumb("Jobs")],
        data={
            "group": group,
            "total": found.total,
            "rows": [_row(asked, row) for row in found.rows],
            "columns": shown,
            "column_choices": _column_choices(asked, shown),
            "sort": f"{'-' if query.descending else ''}{query.order}",
            "filters": _filters(asked, query),
            "filtered": query.is_filtered,
            "part": query.part,
            "cleared": with_query(asked.path, tuple(pair for pair in asked.query if pair[0] in {"sort", "columns", "limit"})),
            "next": _place(asked, after=found.after),
            "previous": _place(asked, before=found.before),
            "address": "&".join(with_query("", asked.query)[1:].split("&")),
        },
        commands=_commands(query),
        routes=[_route(query)],
    )


def _place(asked: Asked, **place: str | None) -> str | None:
    ((name, cursor),) = place.items()
    return with_query(asked.path, changed(asked.query, **{name: cursor})) if cursor else None


def counts(asked: Asked) -> Fragment:
    """The choices of one filter with their counts, fetched when its chip is opened."""
    group_id, name = asked.ids["group_id"], asked.one("of")
    pairs = tuple(pair for pair in asked.query if pair[0] not in {"of", "find"})
    query = listing.parse(group_id, pairs)
    here = path_of("groups", group_id, "jobs")
    if name in RANGES:
        found = listing.spread(asked.services, asked.principal, query, name, bars=12)
        bars = [
            {"low": low, "high": high, "jobs": number, "url": with_query(here, _ranged(pairs, name, low, high))}
            for low, high, number in found.bars
        ]
        most = max((bar[2] for bar in found.bars), default=1)
        data: dict[str, Any] = {"name": name, "spread": found, "bars": bars, "most": most, "unit": _UNITS[name], "label": LABELS[name]}
        return Fragment(
            template="jobs-range.html", data=data | {"off": with_query(here, changed(pairs, **{f"{name}_from": None, f"{name}_to": None}))}
        )
    facet = listing.facet(asked.services, asked.principal, query, name, part=asked.one("find").strip())
    chosen = query.facets.get(name, ())
    choices = [
        {
            "label": word_of(name, value),
            "jobs": number,
            "chosen": value in chosen,
            "url": with_query(here, toggled(pairs, name, text_of(value))),
        }
        for value, number in facet.values
    ]
    return Fragment(template="jobs-facet.html", data={"name": name, "choices": choices, "more": facet.more, "label": LABELS[name]})


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the form of the list sends: `which` is chosen or all, `query` the list's own address behind `?`."""

    which: str
    query: str = ""
    jobs: list[str] = msgspec.field(default_factory=list)


def freeze(asked: Asked) -> Done:
    """The chosen jobs, or all that fit, become a download task."""
    group_id, wanted = asked.ids["group_id"], asked.sent(Wanted)
    pairs = tuple(parse_qsl(wanted.query, keep_blank_values=True, max_num_fields=200))
    query = listing.parse(group_id, pairs)
    conditions: Conditions = query.conditions()
    filters: dict[str, Any] = {"group_id": group_id}
    if wanted.which == "chosen":
        if not 0 < len(wanted.jobs) <= _MOST_CHOSEN:
            raise unprocessable(f"choose 1 to {_MOST_CHOSEN} jobs")
        conditions, filters = {"group_id": group_id, "job_id": tuple(wanted.jobs)}, filters | {"chosen by hand": len(wanted.jobs)}
    else:
        filters |= told(query)
    task_id = downloads.freeze(asked.services, asked.principal, group_id, conditions, filters=filters)
    return Done(location=path_of("downloads", task_id))


def told(query: JobQuery) -> dict[str, Any]:
    """The filters of a query as words."""
    words: dict[str, Any] = {name: ", ".join(word_of(name, value) for value in values) for name, values in query.facets.items()}
    words |= {name: _range_words(name, limits) for name, limits in query.ranges.items()}
    return words | ({"id or task holds": query.part} if query.part else {})


def word_of(name: str, value: Any) -> str:
    """What a value of a fact is called."""
    words = _WORDS.get(name, {})
    for known, word in words.items():
        if value is known or (not isinstance(value, bool) and value == known):
            return word
    return "not recorded" if value is None else str(value)


def text_of(value: Any) -> str:
    """A value as it stands in an address."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def toggled(pairs: Pairs, name: str, text: str) -> Pairs:
    """The query with this value of the fact asked for, or no longer."""
    kept = tuple(pair for pair in pairs if pair[0] not in {"after", "before"})
    return tuple(pair for pair in kept if pair != (name, text)) if (name, text) in kept else (*kept, (name, text))


def _ranged(pairs: Pairs, name: str, low: float, high: float) -> Pairs:
    kept = changed(pairs, **{f"{name}_from": None, f"{name}_to": None})
    return (*kept, (f"{name}_from", _end(name, low)), (f"{name}_to", _end(name, high)))


def _end(name: str, value: float) -> str:
    return format_time(int(value * _MICROS))[:16] if name == "started_at" else f"{value:.12g}"


def _range_words(name: str, limits: Range) -> str:
    low, high = (None if end is None else _end(name, end / (RANGES[name] or _MICROS)) for end in (limits.low, limits.high))
    unit = f" {_UNITS[name]}" if _UNITS[name] else ""
    if low is None:
        return f"to {high}{unit}"
    return f"from {low}{unit}" if high is None else f"{low} to {high}{unit}"


def _filters(asked: Asked, query: JobQuery) -> list[dict[str, Any]]:
    here = with_query(f"{asked.path}/counts", tuple(pair for pair in asked.query if pair[0] not in {"after", "before"}))
    joint = "&" if "?" in here else "?"
    found = []
    for name in (*FACETS, *RANGES):
        chosen = [word_of(name, value) for value in query.facets.get(name, ())]
        if name in query.ranges:
            chosen = [_range_words(name, query.ranges[name])]
        found.append({"name": name, "label": LABELS[name], "chosen": chosen, "counts": f"{here}{joint}of={name}"})
    return found


def _columns(asked: Asked, *, stepped: bool) -> Sequence[Column]:
    """Those that the address names; else the usual ones, without steps where the group has none."""
    names = {name for text in asked.all("columns") for name in text.split(".")}
    usual = {column.name for column in COLUMNS if column.usual and (stepped or column.name != "step")}
    chosen = [column for column in COLUMNS if column.name in (names or usual)]
    return [COLUMNS[0], *(column for column in chosen if column.name != "job_id")]


def _column_choices(asked: Asked, shown: Sequence[Column]) -> list[dict[str, Any]]:
    names = [column.name for column in shown]
    found = []
    for column in COLUMNS[1:]:
        kept = [name for name in names if name != column.name] if column.name in names else [*names, column.name]
        found.append(
            {
                "label": column.label,
                "shown": column.name in names,
                "url": with_query(asked.path, changed(asked.query, columns=".".join(kept))),
            }
        )
    return found


_FACTS = (
    *("job_id", "task_id", "step", "attempt", "status", "outcome", "reward", "reward_valid", "fail_reason", "sub_fail_reason", "cost_usd"),
    *(
        "n_steps",
        "model",
        "agent",
        "error_type",
        "template",
        "instance_id",
        "created_at",
        "started_at",
        "n_input_tokens",
        "n_output_tokens",
    ),
)


def _row(asked: Asked, row: Any) -> dict[str, Any]:
    facts = {name: getattr(row, name) for name in _FACTS}
    known = row.n_input_tokens is not None and row.n_output_tokens is not None
    query = tuple(pair for pair in asked.query if pair[0] not in {"after", "before", "columns", "limit"})
    return {
        **facts,
        "tokens": row.n_input_tokens + row.n_output_tokens if known else None,
        "duration": shapes.duration_s(row),
        "url": with_query(path_of("jobs", row.job_id), query),
    }


def _commands(query: JobQuery) -> list[str]:
    """`bl` calls for the same jobs, as far as its filters say the same; ranges are not among them."""
    plain = {name: values for name, values in query.facets.items() if None not in values and name != "task_id"}
    create = command(
        "download-tasks", "create", "-g", query.group_id, **{name: ",".join(map(text_of, values)) for name, values in plain.items()}
    )
    whole = not query.ranges and not query.part and len(plain) == len(query.facets)
    lists = [command("jobs", "get", "-g", query.group_id, "--all")] if not query.is_filtered else []
    return [*lists, create] if whole else [*lists, f"{create}  # other filters of this page have no flag: freeze them with Download"]


def _route(query: JobQuery) -> str:
    pairs: list[tuple[str, str]] = [("group_id", query.group_id)]
    for name, values in query.facets.items():
        if None not in values:
            pairs.append((name, ",".join(map(text_of, values))))
    return with_query("/openapi/jobs", tuple(pairs))


ROUTES: list[HTTPRouteHandler] = [
    page("/groups/{group_id:str}/jobs", jobs),
    page("/groups/{group_id:str}/jobs/counts", counts),
    action("/groups/{group_id:str}/downloads", freeze),
]
