"""The background work of packing."""

from __future__ import annotations

from benchloop_server.features.packing import service
from benchloop_server.kit.work import Handler

HANDLER = Handler(service.pack)
