"""The background work of analysing a group."""

from __future__ import annotations

from benchloop_server.features.analysis import work
from benchloop_server.kit.work import Handler

HANDLER = Handler(work.analyse, gave_up=work.gave_up)
