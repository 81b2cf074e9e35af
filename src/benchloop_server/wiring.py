"""Settings become services: the only place that names the real adapters."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from obstore.store import MemoryStore, S3Store

from benchloop_server.adapters.blobs_local import LocalBlobs
from benchloop_server.adapters.blobs_object import ObjectBlobs
from benchloop_server.adapters.engine_rows import RowEngine
from benchloop_server.adapters.hands_processes import ProcessHands
from benchloop_server.features.accounts import service as accounts
from benchloop_server.kit.blobs import BlobStore
from benchloop_server.kit.browsers import Browsers
from benchloop_server.kit.db import Database, DatabaseError, sqlite_url
from benchloop_server.kit.judging import Judging
from benchloop_server.kit.rules import Rules
from benchloop_server.kit.services import Services
from benchloop_server.kit.staging import sweep
from benchloop_server.kit.upkeep import Upkeep
from benchloop_server.kit.uses import Uses
from benchloop_server.kit.work import Engine, Handler
from benchloop_server.settings import BadSetting, Settings, for_hand
from benchloop_server.sql import migrate

_MIB = 1024 * 1024
_AWS_OPTIONS = {
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
    "AWS_REGION": "region",
    "AWS_DEFAULT_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
    "AWS_ENDPOINT_URL_S3": "endpoint",
}


def open_database(settings: Settings) -> Database:
    """The database with its schema in step: SQLite is migrated here, PostgreSQL only by `benchloop-server migrate`.

    Raises `migrate.SchemaError` when the schema is newer than this program, or older on PostgreSQL; `BadSetting` for an unusable URL.
    """
    database = connect(settings)
    if database.is_sqlite:
        migrate.upgrade(database)
    else:
        migrate.check(database)
    return database


def connect(settings: Settings) -> Database:
    """The database as it is. Raises `BadSetting` for an unusable URL."""
    make_private(settings.data)
    try:
        return Database(settings.database or sqlite_url(settings.data / "benchloop.sqlite3"))
    except (ValueError, DatabaseError) as error:
        raise BadSetting(f"the database URL cannot be used: {error}") from error


def open_services(settings: Settings) -> Services:
    """Everything a running server needs."""
    database = open_database(settings)
    scratch = settings.data / "scratch"
    make_private(scratch)
    sweep(scratch)
    uses = Uses()
    identify = partial(accounts.identify, database, uses=uses)
    return Services(
        db=database,
        blobs=open_blobs(settings),
        scratch=scratch,
        identify=identify,
        upkeep=upkeep_of(settings),
        rules=rules_of(settings),
        judging=judging_of(settings),
        uses=uses,
        browsers=Browsers(names=frozenset((*settings.names, settings.host.lower()))),
    )


def for_work(services: Services, settings: Settings) -> Services:
    """The services of a worker, which has other processes compute for it where their blobs are not in the memory of this one, and which
    may ask a judge.
    """
    if settings.judge is not None and services.judging is not None:
        # Loaded only here: it needs the analysis.
        adapter = importlib.import_module("benchloop_server.adapters.judge_endpoint").EndpointJudge
        asked = settings.judge
        endpoint = adapter(asked.url, asked.model, key=asked.key or None, price=asked.price)
        services = replace(services, judging=replace(services.judging, endpoint=endpoint))
    if settings.blobs.startswith("memory:") or settings.analysis_processes < 1:
        return services
    return replace(services, hands=ProcessHands(settings.analysis_processes, for_hand(settings)))


def judging_of(settings: Settings) -> Judging | None:
    """What the settings say about a judge."""
    asked = settings.judge
    if asked is None:
        return None
    samples, agree = asked.votes
    return Judging(model=asked.model, price=asked.price, cap=asked.cap, samples=samples, agree=agree, behaviours=asked.behaviours)


def rules_of(settings: Settings) -> Rules:
    """The texts of the rule files that the settings name: files, or folders with YAML files. Raises `BadSetting`."""
    paths: list[Path] = []
    for path in settings.rules:
        paths += sorted((*path.glob("*.yaml"), *path.glob("*.yml"))) if path.is_dir() else [path]
    try:
        texts = tuple((path.name, path.read_text("utf-8")) for path in paths)
        if texts:
            # Loaded only here: the analysis costs a server that needs no look at its rules half a second.
            importlib.import_module("benchloop_analysis.ruleset").load(texts)
    except (OSError, ValueError) as error:
        raise BadSetting(f"the rules cannot be used: {error}") from error
    return Rules(texts)


def upkeep_of(settings: Settings) -> Upkeep:
    """What the settings say about packing and links."""
    return Upkeep(
        quiet_seconds=settings.pack_minutes * 60,
        pack_bytes=settings.pack_mib * _MIB,
        links=settings.signed_links,
        link_bytes=settings.link_mib * _MIB,
    )


def open_engine(services: Services, handlers: Mapping[str, Handler], *, worker_id: str) -> Engine:
    """The engine of background work, for the worker of this name."""
    return RowEngine(services, handlers, worker_id=worker_id)


def open_blobs(settings: Settings) -> BlobStore:
    """The blob store that `settings.blobs` names: a folder, `s3://bucket/prefix` or `memory:`."""
    url = urlsplit(settings.blobs)
    if url.scheme == "s3":
        options = {_AWS_OPTIONS[name]: value for name, value in sorted(settings.aws.items()) if name in _AWS_OPTIONS}
        insecure = options.get("endpoint", "").startswith("http://")
        return ObjectBlobs(S3Store(url.netloc, config=options, client_options={"allow_http": insecure}), prefix=url.path)  # type: ignore[arg-type]
    if url.scheme == "memory":
        return ObjectBlobs(MemoryStore())
    if url.scheme not in {"", "file"} and len(url.scheme) > 1:
        raise BadSetting(f"the blob store has to be a folder, s3://bucket/prefix or memory:, not {settings.blobs!r}")
    folder = Path(url.path if url.scheme == "file" else settings.blobs).expanduser()
    make_private(folder)
    return LocalBlobs(folder)


def make_private(folder: Path) -> None:
    """Make the folder, readable by its owner only; one that exists keeps its rights."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
