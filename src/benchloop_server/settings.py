"""The server's settings: the only reader of its environment. Command line options win over variables, variables over defaults."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765

#: Every variable that is read, and what for.
VARIABLES = {
    "BENCHLOOP_SERVER_DATA": "data folder (default: benchloop in the user's data directory)",
    "BENCHLOOP_SERVER_HOST": f"address to listen on (default {DEFAULT_HOST})",
    "BENCHLOOP_SERVER_PORT": f"port to listen on, 0 for any free one (default {DEFAULT_PORT})",
    "BENCHLOOP_SERVER_NAMES": "names under which browsers reach the pages, with commas (default: --host, localhost and any IP address)",
    "BENCHLOOP_SERVER_DATABASE": "database URL (default: SQLite in the data folder)",
    "BENCHLOOP_SERVER_BLOBS": "blob store: a folder, s3://bucket/prefix or memory: (default: a folder in the data folder)",
    "BENCHLOOP_SERVER_LOG_LEVEL": "debug, info, warning or error (default info)",
    "BENCHLOOP_SERVER_WORKERS": "worker processes that `serve` may start when there is work, 0 for none (default 1)",
    "BENCHLOOP_SERVER_PACK_MINUTES": "quiet minutes after which a growing group's small blobs are packed (default 10)",
    "BENCHLOOP_SERVER_PACK_MIB": "largest size of a pack in MiB (default 64)",
    "BENCHLOOP_SERVER_SIGNED_LINKS": "true: send clients that ask for it straight to the object store for large files (default false)",
    "BENCHLOOP_SERVER_LINK_MIB": "size in MiB from which a file counts as large for that (default 32)",
    "BENCHLOOP_SERVER_RULES": "files or folders with rules of your own for the analysis, separated as in PATH (default: none)",
    "BENCHLOOP_SERVER_ANALYSIS_PROCESSES": "processes of a worker that analyse (default: one for each core; 0: the worker itself)",
    "BENCHLOOP_SERVER_JUDGE_URL": "endpoint of the OpenAI kind, asked where the rules are not sure (default: none)",
    "BENCHLOOP_SERVER_JUDGE_MODEL": "model to ask there",
    "BENCHLOOP_SERVER_JUDGE_KEY": "key for it; sent there only, over TLS or to this machine",
    "BENCHLOOP_SERVER_JUDGE_PRICE": "US dollars for a million tokens sent, and received, such as 3,15; 0,0 for an endpoint of your own",
    "BENCHLOOP_SERVER_JUDGE_CAP": "US dollars that all its answers together may cost (default 1)",
    "BENCHLOOP_SERVER_JUDGE_VOTES": "answers to ask for at most, and how many have to agree (default 3,2)",
    "BENCHLOOP_SERVER_JUDGE_BEHAVIOURS": "jobs of each behaviour task to ask about behaviour that rules cannot see (default 0: none)",
    "AWS_*": "credentials, region and endpoint of an s3:// blob store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Which model is asked, and what that may cost: US dollars for a million tokens sent and received, and for everything together.

    `behaviours`: of so many jobs of a behaviour task it is asked about behaviour, too.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    price: tuple[float, float]
    cap: float = 1.0
    votes: tuple[int, int] = (3, 2)
    behaviours: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the data is and where to listen. `database` is a URL, empty for SQLite in the data folder; `aws` holds the AWS_* variables."""

    data: Path
    database: str
    blobs: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()
    log_level: str = "info"
    workers: int = 1
    pack_minutes: int = 10
    pack_mib: int = 64
    signed_links: bool = False
    link_mib: int = 32
    rules: tuple[Path, ...] = ()
    analysis_processes: int = 1
    judge: JudgeSettings | None = None
    aws: Mapping[str, str] = field(default_factory=dict)


class BadSetting(ValueError):
    """A setting that cannot be used; the message names it."""


def load(environ: Mapping[str, str] | None = None, **options: str | int | Path | None) -> Settings:
    """Settings from `environ` (default: the process's) and `options` named like the fields; None means not given."""
    environ = os.environ if environ is None else environ
    given = {name: str(value) for name, value in options.items() if value is not None}

    def pick(name: str, variable: str, default: str) -> str:
        return given.get(name) or environ.get(f"BENCHLOOP_SERVER_{variable}") or default

    data = Path(pick("data", "DATA", str(_user_data(environ)))).expanduser().absolute()
    return Settings(
        data=data,
        database=pick("database", "DATABASE", ""),
        blobs=pick("blobs", "BLOBS", str(data / "blobs")),
        host=pick("host", "HOST", DEFAULT_HOST),
        port=_port(pick("port", "PORT", str(DEFAULT_PORT))),
        names=tuple(name.strip().lower() for name in pick("names", "NAMES", "").split(",") if name.strip()),
        log_level=pick("log_level", "LOG_LEVEL", "info").lower(),
        workers=_number("workers", pick("workers", "WORKERS", "1"), most=64),
        pack_minutes=_number("minutes before packing", pick("pack_minutes", "PACK_MINUTES", "10"), most=100_000),
        pack_mib=_number("size of a pack in MiB", pick("pack_mib", "PACK_MIB", "64"), least=1, most=1024),
        signed_links=_yes("BENCHLOOP_SERVER_SIGNED_LINKS", pick("signed_links", "SIGNED_LINKS", "false")),
        link_mib=_number("size in MiB for signed links", pick("link_mib", "LINK_MIB", "32"), most=1_000_000),
        rules=tuple(Path(part).expanduser().absolute() for part in pick("rules", "RULES", "").split(os.pathsep) if part),
        analysis_processes=_number("number of processes", pick("analysis_processes", "ANALYSIS_PROCESSES", str(_cores())), most=256),
        judge=_judge({name: environ.get(f"BENCHLOOP_SERVER_JUDGE_{name}", "") for name in _JUDGE}),
        aws={name: value for name, value in environ.items() if name.startswith("AWS_")},
    )


def for_child(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which a worker process finds the same settings: nothing of them shows in its command line."""
    environ = os.environ if environ is None else environ
    ours = {
        "DATA": str(settings.data),
        "DATABASE": settings.database,
        "BLOBS": settings.blobs,
        "LOG_LEVEL": settings.log_level,
        "PACK_MINUTES": str(settings.pack_minutes),
        "PACK_MIB": str(settings.pack_mib),
        "RULES": os.pathsep.join(map(str, settings.rules)),
        "ANALYSIS_PROCESSES": str(settings.analysis_processes),
    }
    judge = dict.fromkeys((f"BENCHLOOP_SERVER_JUDGE_{name}" for name in _JUDGE), "") if settings.judge is None else _told(settings.judge)
    return {**environ, **settings.aws, **judge, **{f"BENCHLOOP_SERVER_{name}": value for name, value in ours.items()}}


def for_hand(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process that only computes: it asks nobody, so it gets no key for it."""
    return {name: value for name, value in for_child(settings, environ).items() if not name.startswith("BENCHLOOP_SERVER_JUDGE_")}


_JUDGE = ("URL", "MODEL", "KEY", "PRICE", "CAP", "VOTES", "BEHAVIOURS")


def _judge(given: Mapping[str, str]) -> JudgeSettings | None:
    if not given["URL"]:
        return None
    if not given["MODEL"] or not given["PRICE"]:
        raise BadSetting("a judge needs its URL, MODEL and PRICE (BENCHLOOP_SERVER_JUDGE_…), so that its cost is known and capped")
    _check_judge_url(given["URL"])
    price = _pair("price of the judge", given["PRICE"])
    votes = _pair("number of the judge's answers", given["VOTES"] or "3,2")
    if not (votes[0].is_integer() and votes[1].is_integer() and 1 <= votes[1] <= votes[0] <= 9):
        raise BadSetting(f"the judge's votes are two numbers from 1 to 9, the second not above the first, not {given['VOTES']!r}")
    cap = _amount("cap of the judge", given["CAP"] or "1")
    behaviours = _number("number of jobs to ask the judge about", given["BEHAVIOURS"] or "0", most=1_000_000)
    pair = int(votes[0]), int(votes[1])
    return JudgeSettings(url=given["URL"], model=given["MODEL"], key=given["KEY"], price=price, cap=cap, votes=pair, behaviours=behaviours)


def _told(judge: JudgeSettings) -> dict[str, str]:
    """The variables from which `_judge` makes the same."""
    values = {
        "URL": judge.url,
        "MODEL": judge.model,
        "KEY": judge.key,
        "PRICE": ",".join(map(repr, judge.price)),
        "CAP": repr(judge.cap),
        "VOTES": ",".join(map(str, judge.votes)),
        "BEHAVIOURS": str(judge.behaviours),
    }
    return {f"BENCHLOOP_SERVER_JUDGE_{name}": value for name, value in values.items()}


def _check_judge_url(text: str) -> None:
    """Trajectories and the key leave in clear text for this machine only."""
    try:
        url = urlsplit(text)
        usable = bool(url.hostname) and url.scheme in {"http", "https"} and url.username is None and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise BadSetting("the judge's URL has to be a full address such as https://llm.example.com/v1, without a key in it")
    if url.scheme == "http" and not _is_here(url.hostname or ""):
        raise BadSetting(f"the judge at {url.hostname} has to be reached over https: http is for this machine only")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pair(what: str, text: str) -> tuple[float, float]:
    first, _, second = text.partition(",")
    return _amount(what, first), _amount(what, second)


def _amount(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise BadSetting(f"the {what} has to be given in numbers that are 0 or more, not {text!r}")
    return value


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number(what: str, text: str, *, least: int = 0, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise BadSetting(f"the {what} has to be a number from {least} to {most}, not {text!r}")
    return int(text)


def _yes(variable: str, text: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in known:
        raise BadSetting(f"{variable} has to be true or false, not {text!r}")
    return known[text.lower()]


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise BadSetting(f"the port has to be a number from 0 to 65535, not {text!r}")
    return int(text)


def _user_data(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or "~").expanduser()
    if environ.get("XDG_DATA_HOME"):
        return Path(environ["XDG_DATA_HOME"]) / "benchloop"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "benchloop"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "benchloop"
    return home / ".local" / "share" / "benchloop"
