"""What the client was told, from flags, environment and configuration file: the only reader of the environment."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchloop_client import configfile
from benchloop_client.addresses import Origin, Proxies, Proxy, check_host
from benchloop_client.configfile import DEFAULT_PROFILE, KEYS, MAX_TIMEOUT, config_path
from benchloop_client.contract.version import KEY_PREFIX
from benchloop_client.errors import UsageError

DOCUMENTED_HOSTS = frozenset({"benchmark-analysis.alibaba-inc.com", "pre-benchmark-analysis.alibaba-inc.com"})
DEFAULT_HOST = str(KEYS["host"].default)

#: From so many characters on, a secret is one wherever it stands.
_LONG_SECRET = 8

#: Set to anything, each of these switches the look for a newer version off.
_NO_UPDATE_CHECK = ("BENCHLOOP_NO_UPDATE_CHECK", "CI")
#: What tells which package index the user's installer asks, and where files of a user lie.
_INSTALLER_VARIABLES = ("PIP_", "UV_", "XDG_")
_INSTALLER_FOLDERS = frozenset({"APPDATA", "PROGRAMDATA"})
#: Where certificate authorities are named for every program; each adds to the system's.
_TRUST_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
#: A spelling that the documented client's own pages use in one place, and that nothing reads.
_MISTAKEN, _MEANT = "BENCH_LOOP_", "BENCHLOOP_"


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line said; None means that it said nothing. `timeout` in seconds, `concurrency` is a hard ceiling,
    `limit_rate` in bytes a second, `deadline` in seconds for everything together.
    """

    api_key: str | None = field(default=None, repr=False)
    host: str | None = None
    output_dir: str | None = None
    config: str | None = None
    profile: str | None = None
    allow_http: bool | None = None
    cacert: str | None = None
    proxy: str | None = field(default=None, repr=False)
    timeout: float | None = None
    retry: int | None = None
    concurrency: int | None = None
    limit_rate: float | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """One value and where it came from: "flag", a variable, the file (with its profile), or "default"."""

    value: Any = field(repr=False)
    source: str = "default"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every value with its source, before anything is checked: what `bl config list` shows."""

    file: configfile.ConfigFile
    profile: str
    values: Mapping[str, Value]

    def __getitem__(self, name: str) -> Any:
        return self.values[name].value


@dataclass(frozen=True, slots=True)
class Trust:
    """A file or folder of certificate authorities to trust beside the system's, and who named it."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the client needs to know. `host` has no trailing slash; `concurrency` None means adaptive; `came_from` names the source of
    each value ("flag", a variable, the file, "default"); `hints` are sentences for a person about what was probably meant otherwise.
    """

    host: str = DEFAULT_HOST
    api_key: str | None = field(default=None, repr=False)
    output_dir: Path = Path()
    timeout: float = 300.0
    retry: int = 2
    concurrency: int | None = None
    limit_rate: float | None = None
    deadline: float | None = None
    #: Seconds for which a server may answer nothing but 429 and 503 before it is given up as a whole.
    patience: float = 300.0
    allow_http: bool = False
    config_path: Path = Path(configfile.DEFAULT_CONFIG)
    profile: str = DEFAULT_PROFILE
    trust: tuple[Trust, ...] = ()
    proxies: Proxies = field(default_factory=Proxies)
    update_check: bool = False
    came_from: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        """The only origin that is ever sent the key."""
        return Origin.of(self.host)

    def redact(self, text: str) -> str:
        """`text` with the key and a proxy's credentials masked, also where they are percent- or base64-encoded. One of a few characters is
        masked where it stands alone: inside a word it is a part of that word.
        """
        for secret in _secrets(self.api_key, self.proxies):
            encoded = base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode().rstrip("=")
            for form in (secret, quote(secret, safe="", errors="surrogateescape"), encoded):
                text = text.replace(form, "***") if len(form) >= _LONG_SECRET else re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", "***", text)
        return text


def load(flags: Flags | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings by precedence flag > environment > file > default; an empty string counts as unset.

    A profile named by a flag stands before the environment, one named by `BENCHLOOP_PROFILE` after it.

    Raises `UsageError` for a host, key or proxy that cannot be used, `ConfigError` for a configuration file that cannot be read.
    """
    env = os.environ if environ is None else environ
    found = resolve(flags, env)
    host = check_host(found["host"])
    key = check_key(found["api_key"]) if found["api_key"] else None
    _check_together(host, key, allow_http=found["allow_http"])
    return Settings(
        host=host,
        api_key=key,
        output_dir=Path(found["output_dir"]).expanduser(),
        timeout=_positive(found["timeout"]),
        retry=max(0, found["retry"]),
        concurrency=found["concurrency"],
        limit_rate=flags.limit_rate if flags else None,
        deadline=flags.deadline if flags else None,
        allow_http=found["allow_http"],
        config_path=found.file.path,
        profile=found.profile,
        trust=tuple(_trust(found.values["cacert"], env)),
        proxies=Proxies.of(found["proxy"], env),
        update_check=found["update_check"] and not any(env.get(name) for name in _NO_UPDATE_CHECK),
        came_from={name: value.source for name, value in found.values.items()},
        hints=tuple(_hints(found, env)),
    )


def resolve(flags: Flags | None = None, environ: Mapping[str, str] | None = None) -> Resolved:
    """Every value with its source. Raises `ConfigError` for a configuration file that cannot be read, or lacks the profile asked for."""
    flags = flags or Flags()
    env = os.environ if environ is None else environ
    file = configfile.read(config_path(flags.config), must_exist=flags.config is not None)
    profile = profile_name(flags.profile, env)
    table = file.profile(profile)
    in_file = str(file.path) if profile == DEFAULT_PROFILE else f"{file.path} {configfile.heading(profile)}"
    values = {}
    for name, key in KEYS.items():
        stored = [(in_file, table.get(name))]
        offers = [
            ("flag", getattr(flags, name, None)),
            *(stored if flags.profile else ()),
            *((variable, env.get(variable)) for variable in key.variables),
            *stored,
        ]
        values[name] = next((Value(value, source) for source, value in offers if value not in (None, "")), Value(key.default))
    return Resolved(file, profile, values)


def profile_name(given: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """The profile that is asked for: `given` by a flag, else by `BENCHLOOP_PROFILE`, else the documented one."""
    env = os.environ if environ is None else environ
    return given or env.get("BENCHLOOP_PROFILE") or DEFAULT_PROFILE


def installer_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of pip and uv, and those that name folders of files."""
    env = os.environ if environ is None else environ
    return {name: value for name, value in env.items() if name.startswith(_INSTALLER_VARIABLES) or name in _INSTALLER_FOLDERS}


def judge_key(environ: Mapping[str, str] | None = None) -> str | None:
    """The key for the endpoint of `bl analyze --judge-url`; nobody else is sent it. Raises `UsageError` for one that no header can hold."""
    env = os.environ if environ is None else environ
    key = env.get("BENCHLOOP_JUDGE_KEY")
    return check_key(key) if key else None


def wants_colour(terminal: bool, environ: Mapping[str, str] | None = None) -> bool:
    """Whether text for a stream that is (or is not) a `terminal` has colours. In this order: `NO_COLOR` says no, `CLICOLOR_FORCE` and
    `FORCE_COLOR` say yes (unless they are 0), `CLICOLOR=0` and `TERM=dumb` say no.
    """
    env = os.environ if environ is None else environ
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name) not in {None, "", "0"} for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return terminal and env.get("CLICOLOR") != "0" and env.get("TERM") != "dumb"


def can_redraw(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a terminal, if there is one, can draw a line anew: `TERM=dumb` says no."""
    env = os.environ if environ is None else environ
    return env.get("TERM") != "dumb"


def check_key(key: str) -> str:
    """`key` without surrounding line ends. Raises `UsageError`, which does not show it, unless it is printable ASCII without spaces."""
    key = key.strip(" \t\r\n")
    if not key or not all("!" <= character <= "~" for character in key):
        raise UsageError("the API key holds characters that no key has (a space, a line end inside it, or a letter outside ASCII)")
    return key


def masked(key: str) -> str:
    """A key as it may be shown: how one of ours begins, nothing of any other."""
    return f"{key[:8]}…" if key.startswith(KEY_PREFIX) and len(key) >= 24 else "***"


def _check_together(host: str, key: str | None, *, allow_http: bool) -> None:
    origin = Origin.of(host)
    if key and key.startswith(KEY_PREFIX) and origin.host in DOCUMENTED_HOSTS:
        raise UsageError(
            f"this key was made by a Benchloop server of your own and is not sent to {origin.host}: "
            "name your server with --host, BENCHLOOP_HOST or `bl config set --host`"
        )
    if origin.scheme == "http" and not origin.loopback and not allow_http:
        raise UsageError(f"{origin} would carry key and data in clear text: use https, or allow it with --allow-http")


def _positive(timeout: float) -> float:
    if not 0 < timeout < MAX_TIMEOUT:
        raise UsageError(f"timeout must be a number of seconds above 0, not {timeout}")
    return timeout


def _trust(cacert: Value, env: Mapping[str, str]) -> Iterator[Trust]:
    if cacert.value:
        source = "--cacert" if cacert.source == "flag" else f"cacert in {cacert.source}"
        yield Trust(str(Path(cacert.value).expanduser()), source)
    yield from (Trust(env[name], name) for name in _TRUST_VARIABLES if env.get(name))


def _hints(found: Resolved, env: Mapping[str, str]) -> Iterator[str]:
    for name in ("api_key", "host", "output_dir"):
        mistaken, meant = f"{_MISTAKEN}{name.upper()}", f"{_MEANT}{name.upper()}"
        if env.get(mistaken) and found.values[name].source == "default":
            yield f"{mistaken} is set, but nothing reads it: did you mean {meant}?"


def _secrets(key: str | None, proxies: Proxies) -> Iterator[str]:
    if key:
        yield key
    for address in proxies.by_scheme.values():
        try:
            proxy = Proxy.of(address)
        except UsageError:
            continue
        if proxy.password:
            yield f"{proxy.user}:{proxy.password}"
