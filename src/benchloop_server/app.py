"""The application: every feature's routes, the pages, the error handlers, and the frame round each request."""

from __future__ import annotations

import logging
from typing import Any

from litestar import Litestar, Router
from litestar.config.app import AppConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins import InitPlugin

from benchloop_client.contract.version import __version__
from benchloop_server.features.about.routes import ROUTES as ABOUT
from benchloop_server.features.accounts.routes import ROUTES as ACCOUNTS
from benchloop_server.features.artifacts.routes import ROUTES as ARTIFACTS
from benchloop_server.features.behaviour.routes import ROUTES as BEHAVIOUR
from benchloop_server.features.bulk.routes import ROUTES as BULK
from benchloop_server.features.downloads.routes import ROUTES as DOWNLOADS
from benchloop_server.features.exports.routes import ROUTES as EXPORTS
from benchloop_server.features.groups.routes import ROUTES as GROUPS
from benchloop_server.features.jobs.routes import ROUTES as JOBS
from benchloop_server.features.metrics.routes import ROUTES as METRICS
from benchloop_server.features.reports.routes import ROUTES as REPORTS
from benchloop_server.features.trajectories.routes import ROUTES as TRAJECTORIES
from benchloop_server.features.uploads.routes import ROUTES as UPLOADS
from benchloop_server.http.auth import principal_of, services_of
from benchloop_server.http.errors import HANDLERS
from benchloop_server.http.frame import Frame
from benchloop_server.kit.services import Services
from benchloop_server.pages.all import PAGES
from benchloop_server.pages.errors import for_browsers

ROUTES: list[Any] = [
    *(*ABOUT, *ACCOUNTS, *GROUPS, *JOBS, *METRICS, *DOWNLOADS, *UPLOADS),
    *(*TRAJECTORIES, *EXPORTS, *BULK, *ARTIFACTS, *REPORTS, *BEHAVIOUR),
    *PAGES,
]


def create_app(services: Services) -> Frame:
    """The ASGI application over `services`; Litestar itself is its `.app`."""
    logging.getLogger("litestar").setLevel(logging.WARNING)
    return Frame(
        Litestar(
            route_handlers=[_Ours("/", route_handlers=ROUTES)],
            dependencies={"services": Provide(services_of), "principal": Provide(principal_of)},
            exception_handlers=for_browsers(HANDLERS),
            openapi_config=_description(),
            request_max_body_size=services.limits.json_body_bytes,
            state=State({"services": services}),
            on_app_init=[_append_plugin],
            logging_config=None,
        )
    )


def _description() -> OpenAPIConfig:
    scheme = SecurityScheme(type="apiKey", name="X-API-Key", security_scheme_in="header")
    return OpenAPIConfig(title="benchloop-server", version=__version__, components=Components(security_schemes={"ApiKey": scheme}))


class _Ours(Router):
    """Our routes as one thing: given one by one, those that share a path would be wrapped for their thread once for every neighbour."""


class _OnlyOurRoutes(InitPlugin):
    """Litestar adds pages about the API under /schema; ours is the plain document at /openapi.json, so they go."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Runs after Litestar's own plugin, because `_append_plugin` puts it last."""
        app_config.route_handlers = [handler for handler in app_config.route_handlers if isinstance(handler, _Ours)]
        return app_config


def _append_plugin(config: AppConfig) -> AppConfig:
    config.plugins.append(_OnlyOurRoutes())
    return config
