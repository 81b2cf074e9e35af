"""The background work of asking a judge."""

from __future__ import annotations

from benchloop_server.features.analysis import opinions
from benchloop_server.kit.work import Handler

HANDLER = Handler(opinions.opine)
