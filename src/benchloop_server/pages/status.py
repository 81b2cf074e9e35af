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
    words = (
        "nothing waits" if not waiting else f"{formatting.number(waiting)} pieces of work wait or are being done; {alive} workers are alive"
    )
    return Page(
        template="status.html",
        title="Status",
        line=f"{words[0].upper()}{words[1:]}.",
        data={"status": found},
        commands=[command("doctor")],
        routes=["/openapi/status"],
        live=_REFRESH,
    )


ROUTES: list[HTTPRouteHandler] = [page("/status", status)]
