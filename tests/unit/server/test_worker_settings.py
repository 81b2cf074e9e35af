"""Settings of workers, packing and links, how a worker process finds those of its server, and that every kind of work has a handler."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchloop_server.kit.work import Handler
from benchloop_server.settings import BadSetting, for_child, load
from benchloop_server.wiring import upkeep_of
from benchloop_server.worker import KINDS, Handlers

MIB = 1024 * 1024


def test_defaults(tmp_path: Path) -> None:
    settings = load({}, data=tmp_path)
    upkeep = upkeep_of(settings)
    assert settings.workers == 1
    assert (upkeep.quiet_seconds, upkeep.pack_bytes, upkeep.links, upkeep.link_bytes) == (600, 64 * MIB, False, 32 * MIB)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("WORKERS", "many", "workers has to be a number"),
        ("WORKERS", "65", "workers has to be a number from 0 to 64"),
        ("PACK_MIB", "0", "size of a pack"),
        ("PACK_MINUTES", "-1", "minutes before packing"),
        ("SIGNED_LINKS", "perhaps", "BENCHLOOP_SERVER_SIGNED_LINKS has to be true or false"),
    ],
)
def test_what_cannot_be_is_named(variable: str, value: str, words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        load({f"BENCHLOOP_SERVER_{variable}": value})


def test_a_worker_finds_the_settings_of_its_server(tmp_path: Path) -> None:
    given = {"BENCHLOOP_SERVER_PACK_MIB": "7", "AWS_REGION": "us-east-1", "PATH": "/bin"}
    settings = load(given, data=tmp_path / "d", database="postgresql://u:secret@h/db", blobs="s3://b/p", log_level="debug")
    child = for_child(settings, given)
    assert child["PATH"] == "/bin"
    again = load(child)
    names = ("data", "database", "blobs", "log_level", "pack_minutes", "pack_mib", "aws")
    assert all(getattr(again, name) == getattr(settings, name) for name in names)


def test_every_kind_has_a_handler() -> None:
    handlers = Handlers()
    assert sorted(handlers) == sorted(KINDS)
    assert len(handlers) == len(KINDS)
    assert all(isinstance(handlers[kind], Handler) for kind in handlers)
