"""Two groups side by side: what was lost and won, whether that is more than chance, and how the reasons moved."""

from __future__ import annotations

from typing import Any

from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.comparison.tasks import CHANGES, Diff
from benchloop_server.features.comparing import service as comparing
from benchloop_server.features.comparing.service import Side
from benchloop_server.features.groups import service as groups
from benchloop_server.kit.errors import bad_request
from benchloop_server.pages import figures, formatting
from benchloop_server.pages.page import Asked, Crumb, Page, changed, command, path_of, with_query
from benchloop_server.pages.routing import page

_ROWS = 100
_OFFERED = 200
_LONGEST = 200
_SHOWN_REASONS = 16


def compare(asked: Asked) -> Page:
    """The comparison, or the form that asks for its sides."""
    chosen = asked.all("group")
    a, b = asked.one("a") or (chosen[0] if chosen else ""), asked.one("b") or (chosen[1] if len(chosen) > 1 else "")
    if max(len(a), len(b)) > _LONGEST:
        raise bad_request("a side is a group, or group@step")
    if not a or not b:
        return _form(asked, a, b)
    sides = [_side(asked, text) for text in (a, b)]
    made = comparing.compared(asked.services, asked.principal, *sides)
    diff = made.diff
    show = asked.one("show")
    kept = [task for task in diff.tasks if not show or task.change == show]
    first = asked.whole("row", 1, most=10**9)
    rows = [
        {"task": task, "a_url": _jobs_url(sides[0], task.task_id), "b_url": _jobs_url(sides[1], task.task_id)}
        for task in kept[first - 1 : first - 1 + _ROWS]
    ]
    more = first - 1 + len(rows) < len(kept)
    reasons = made.reasons[:_SHOWN_REASONS]
    return Page(
        template="compare.html",
        title=f"{sides[0]} against {sides[1]}",
        line=_line(diff),
        crumbs=[Crumb("Groups", "/groups"), Crumb("Compare", "/compare")],
        data={
            "a": a,
            "b": b,
            "a_side": _shown(sides[0]),
            "b_side": _shown(sides[1]),
            "diff": {name: getattr(diff, name) for name in _PARTS},
            "rows": rows,
            "total": len(kept),
            "row": first,
            "show": show,
            "changes": CHANGES,
            "reasons": [{"fail_reason": name, "a": before, "b": after} for name, before, after in reasons],
            "figure": figures.diverging(reasons, a="A", b="B") if reasons else None,
            "swapped": with_query("/compare", (("a", b), ("b", a))),
            "next": with_query(asked.path, changed(asked.query, row=first + _ROWS)) + "#tasks" if more else None,
            "before": with_query(asked.path, changed(asked.query, row=max(1, first - _ROWS))) + "#tasks" if first > 1 else None,
        },
        commands=[command("diff", a, b), command("diff", a, b, format="json")],
        routes=[f"/openapi{path_of('groups', side.group_id)}/eval_tasks" for side in sides],
        charts=True,
    )


_PARTS = ("a", "b", "counts", "passes", "pass_rate", "reward", "tokens", "cost_usd", "significance", "worse", "better")


def _side(asked: Asked, text: str) -> Side:
    """A group of exactly this id goes before the reading of `@N` as a step."""
    with asked.services.db.read() as connection:
        return Side(text) if groups.exists(connection, asked.principal, text) else Side.parse(text)


def _line(diff: Diff) -> str:
    lost, won = f"{diff.counts['lost']} tasks lost", f"{diff.counts['won']} won"
    for ways, word in ((diff.worse, "worse"), (diff.better, "better")):
        if ways:
            return f"B is {word} than A, beyond chance (by {' and '.join(ways)}): {lost}, {won}"
    return f"No difference beyond chance: {lost}, {won}, p = {formatting.number(diff.passes.p_value)}"


def _shown(side: Side) -> dict[str, Any]:
    return {"group_id": side.group_id, "step": side.step, "url": path_of("groups", side.group_id)}


def _jobs_url(side: Side, task_id: str) -> str:
    pairs = (("task_id", task_id), *((("step", str(side.step)),) if side.step is not None else ()))
    return with_query(path_of("groups", side.group_id, "jobs"), pairs)


def _form(asked: Asked, a: str, b: str) -> Page:
    found = groups.page(asked.services, asked.principal, limit=_OFFERED, cursor=None)
    offered = [name for group in found.groups for name in (group.group_id, *(f"{group.group_id}@{step}" for step in group.steps[-20:]))]
    return Page(
        template="compare-form.html",
        title="Compare two groups",
        line="Two groups, or two training steps of one: task by task, which were lost and won.",
        crumbs=[Crumb("Groups", "/groups"), Crumb("Compare")],
        data={"a": a, "b": b, "offered": offered[:1000]},
        commands=[command("diff", a or "A", b or "B")],
    )


ROUTES: list[HTTPRouteHandler] = [page("/compare", compare)]
