"""The list of groups, and finding one thing by its name."""

from __future__ import annotations

from typing import Any

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.ids import MINTED
from benchloop_server.features.groups import service as groups
from benchloop_server.features.groups.service import GroupFilter
from benchloop_server.features.jobs import service as jobs
from benchloop_server.features.metrics import cards
from benchloop_server.kit.errors import bad_request
from benchloop_server.pages.page import Asked, Elsewhere, Page, changed, command, path_of, with_query
from benchloop_server.pages.routing import page

_ROWS = 50
_LONGEST = 200


def listing(asked: Asked) -> Page:
    """All groups of the workspace, newest first, each in one line."""
    wanted = _filter(asked)
    limit = asked.whole("limit", _ROWS, most=200)
    found = groups.page(asked.services, asked.principal, wanted, limit=limit, cursor=asked.one("after") or None)
    made = cards.of(asked.services, asked.principal, found.groups)
    rows = [
        {"group": group, "card": card, "url": path_of("groups", group.group_id)} for group, card in zip(found.groups, made, strict=True)
    ]
    filtered = any((wanted.search, wanted.model, wanted.benchmark, wanted.step is not None))
    data: dict[str, Any] = {
        "total": found.total,
        "rows": rows,
        "search": wanted.search,
        "step": wanted.step,
        "chips": _chips(asked),
        "filtered": filtered,
        "next": with_query(asked.path, changed(asked.query, after=found.next_cursor)) if found.next_cursor else None,
        "first": with_query(asked.path, changed(asked.query)) if asked.one("after") else None,
    }
    return Page(
        template="groups.html",
        title="Groups",
        line="" if not filtered else f"{found.total} groups fit",
        data=data,
        commands=[command("groups", "list")],
        routes=["/openapi/groups"],
    )


def find(asked: Asked) -> Elsewhere:
    """Where a name leads: the job or group with exactly this id, the only group that holds it, else the list of those that do."""
    text = asked.one("q").strip()
    if MINTED.match(text):
        with asked.services.db.read() as connection:
            if groups.exists(connection, asked.principal, text):
                return Elsewhere(path_of("groups", text))
            if jobs.exists(connection, asked.principal, text):
                return Elsewhere(path_of("jobs", text))
    if not text:
        return Elsewhere("/groups")
    found = groups.page(asked.services, asked.principal, GroupFilter(search=text[:_LONGEST]), limit=1, cursor=None)
    return Elsewhere(path_of("groups", found.groups[0].group_id) if found.total == 1 else with_query("/groups", (("search", text),)))


def _filter(asked: Asked) -> GroupFilter:
    step = asked.one("step").strip()
    if step and not (step.isascii() and step.isdigit() and len(step) <= 15):
        raise bad_request(f"`step` {step[:40]!r} is no training step: a whole number such as 100")
    return GroupFilter(
        search=asked.one("search").strip()[:_LONGEST],
        model=asked.one("model") or None,
        benchmark=asked.one("benchmark") or None,
        step=int(step) if step else None,
    )


def _chips(asked: Asked) -> list[dict[str, Any]]:
    found = groups.choices(asked.services, asked.principal)
    return [_chip(asked, name, label, found[name]) for name, label in (("model", "Model"), ("benchmark", "Benchmark"))]


def _chip(asked: Asked, name: str, label: str, values: list[tuple[str, int]]) -> dict[str, Any]:
    chosen = [value for value in asked.all(name) if value]
    choices = [
        {"value": value, "label": value, "count": number, "query": changed(asked.query, **{name: None if value in chosen else value})}
        for value, number in values
    ]
    return {"name": name, "label": label, "choices": choices, "chosen": chosen}


ROUTES: list[HTTPRouteHandler] = [page("/groups", listing), page("/find", find)]
