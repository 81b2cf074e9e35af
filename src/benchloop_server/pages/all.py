"""Every page, as the application serves them."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from benchloop_server.pages.behaviour import ROUTES as BEHAVIOUR
from benchloop_server.pages.beside import ROUTES as BESIDE
from benchloop_server.pages.compare import ROUTES as COMPARE
from benchloop_server.pages.downloads import ROUTES as DOWNLOADS
from benchloop_server.pages.group import ROUTES as GROUP
from benchloop_server.pages.groups import ROUTES as GROUPS
from benchloop_server.pages.job import ROUTES as JOB
from benchloop_server.pages.job_files import ROUTES as JOB_FILES
from benchloop_server.pages.jobs import ROUTES as JOBS
from benchloop_server.pages.keys import ROUTES as KEYS
from benchloop_server.pages.signin import ROUTES as SIGN_IN
from benchloop_server.pages.status import ROUTES as STATUS
from benchloop_server.pages.viewer import ROUTES as VIEWER

_GROUPS = [*GROUPS, *GROUP, *COMPARE, *BEHAVIOUR]
_JOBS = [*JOBS, *JOB, *VIEWER, *JOB_FILES, *BESIDE]
PAGES: list[HTTPRouteHandler] = [*SIGN_IN, *_GROUPS, *_JOBS, *DOWNLOADS, *KEYS, *STATUS]
