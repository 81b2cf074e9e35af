"""What a request may use: one record, filled by `wiring` and handed to every route and service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.browsers import Browsers
from benchloop_server.kit.clock import Clock, system_clock
from benchloop_server.kit.db import Database
from benchloop_server.kit.hands import Hands, OwnHands
from benchloop_server.kit.judging import Judging
from benchloop_server.kit.limits import Limits
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.recent import Recent
from benchloop_server.kit.rules import Rules
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.uses import Uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Database, blobs and so on. `identify` gives the owner of a key or None; `scratch` is a folder for files in the making, on the same
    file system as a blob folder. `hands` compute what takes long, for workers. `judging`: None where no model is asked. `glimpses` are
    counts that a page may show a quarter of a minute late, `uses` those of keys.
    """

    db: Database
    blobs: BlobStore
    scratch: Path
    identify: Callable[[str], Principal | None]
    clock: Clock = system_clock
    limits: Limits = field(default_factory=Limits)
    upkeep: Upkeep = field(default_factory=Upkeep)
    recent: Recent = field(default_factory=Recent)
    glimpses: Recent = field(default_factory=lambda: Recent(seconds=15))
    rules: Rules = field(default_factory=Rules)
    hands: Hands = field(default_factory=OwnHands)
    judging: Judging | None = None
    browsers: Browsers = field(default_factory=Browsers)
    uses: Uses = field(default_factory=Uses)
