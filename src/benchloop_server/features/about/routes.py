"""The routes about the server: version, health and a plain answer on `/` without a key, and how it is doing with one."""

from __future__ import annotations

from litestar import MediaType, Request, Response, get
from litestar.handlers import HTTPRouteHandler

from benchloop_client.contract.resources import Version
from benchloop_client.contract.status import ServerStatus
from benchloop_client.contract.version import API_VERSION, __version__
from benchloop_server.features.about import service
from benchloop_server.http.parameters import GivenPrincipal, GivenServices
from benchloop_server.http.routing import operation


@operation("version")
async def version(services: GivenServices) -> Version:
    """The server's version and what it offers beyond the documented routes."""
    return Version(server="benchloop-server", version=__version__, api=API_VERSION, features=service.features(services))


@operation("status")
def status(services: GivenServices, principal: GivenPrincipal) -> ServerStatus:
    """What waits for the workers, which workers there are, and what is stored."""
    return service.status(services, principal)


@get("/", include_in_schema=False, media_type=MediaType.TEXT)
async def front(request: Request) -> Response[str]:  # type: ignore[type-arg]
    """The pages for a browser, one line for clients that probe the host."""
    if "text/html" in request.headers.get("accept", ""):
        return Response("", status_code=303, headers={"location": "/groups"})
    line = f"benchloop-server {__version__}: the API is under /openapi, its description at /openapi.json\n"
    return Response(line, media_type=MediaType.TEXT)


@get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@get("/readyz", include_in_schema=False, sync_to_thread=True)
def readyz(services: GivenServices) -> dict[str, str]:
    """Database, schema and blob store can be used."""
    service.check_ready(services)
    return {"status": "ready"}


@get("/openapi.json", include_in_schema=False, sync_to_thread=True)
def description(request: Request) -> dict[str, object]:  # type: ignore[type-arg]
    """The OpenAPI document of this server, made from the contract's records."""
    return request.app.openapi_schema.to_schema()


ROUTES: list[HTTPRouteHandler] = [version, status, front, healthz, readyz, description]
