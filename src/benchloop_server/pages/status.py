"""How the server is doing: what waits, who works, what is stored, and versions."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_server.features.about import service as about
from benchloop_server.pages import formatting
from benchloop_server.pages.page import Asked, Page, command
from benchloop_server.pages.routing import page

_REFRESH = 10


def status(asked: Asked) -> Page:
    """The state of things, as the workspace sees it."""
    found = about.status(asked.services, asked.principal)
    waiting = sum(depth.pending + depth.claimed for depth in found.queue.values())
    alive = sum(worker.alive for worker in found.workers)
    return Page(
        template="status.html",
        title="Status",
        line=_line(waiting, alive),
        data={"status": found},
        commands=[command("doctor")],
        routes=["/openapi/status"],
        live=_REFRESH,
    )


def _line(waiting: int, alive: int) -> str:
    """What there is to do, and who does it."""
    if not waiting:
        return "Nothing waits."
    work = "1 piece of work waits or is" if waiting == 1 else f"{formatting.number(waiting)} pieces of work wait or are"
    return f"{work} being done; {'1 worker is' if alive == 1 else f'{alive} workers are'} alive."


ROUTES: list[HTTPRouteHandler] = [page("/status", status)]
