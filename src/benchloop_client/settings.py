"""What the client was told, from flags, environment and configuration file: the only reader of the last two."""

from __future__ import annotations

import base64
import functools
import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from benchloop_client.contract.version import KEY_PREFIX
from benchloop_client.errors import ConfigError, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

DEFAULT_HOST = "https://benchmark-analysis.alibaba-inc.com"
DOCUMENTED_HOSTS = frozenset({"benchmark-analysis.alibaba-inc.com", "pre-benchmark-analysis.alibaba-inc.com"})
DEFAULT_CONFIG = "~/.benchloop/config.toml"
DEFAULT_TIMEOUT = 300.0
DEFAULT_RETRY = 2

_PORTS = {"http": 80, "https": 443}
_LINE = re.compile(r"\(at line (\d+)")
#: What each value may come from: (field, environment variables in order).
_SOURCES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("api_key", ("BENCHLOOP_API_KEY", "BENCHMARK_API_KEY")),
    ("host", ("BENCHLOOP_HOST",)),
    ("output_dir", ("BENCHLOOP_OUTPUT_DIR",)),
)
PROFILE_TEXT = tuple(name for name, _ in _SOURCES)
PROFILE_SWITCHES = ("allow_http", "update_check")
#: Set to anything, each of these switches the look for a newer version off.
_NO_UPDATE_CHECK = ("BENCHLOOP_NO_UPDATE_CHECK", "CI")
#: What tells which package index the user's installer asks, and where files of a user lie.
_INSTALLER_VARIABLES = ("PIP_", "UV_", "XDG_")
_INSTALLER_FOLDERS = frozenset({"APPDATA", "PROGRAMDATA"})


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line said; None means that it said nothing. `timeout` in seconds, `concurrency` is a hard ceiling."""

    api_key: str | None = field(default=None, repr=False)
    host: str | None = None
    output_dir: str | None = None
    config: str | None = None
    allow_http: bool | None = None
    timeout: float = DEFAULT_TIMEOUT
    retry: int = DEFAULT_RETRY
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: what a key belongs to."""

    scheme: str
    host: str
    port: int

    @staticmethod
    def of(url: str) -> Origin:
        """The origin of an absolute http(s) URL. Raises `ValueError` for anything else."""
        return _origin(url)

    @property
    def loopback(self) -> bool:
        """True for this machine's own addresses."""
        return _is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@functools.lru_cache(maxsize=512)
def _origin(url: str) -> Origin:
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError("not an absolute http or https URL")
    return Origin(scheme, parts.hostname.lower().rstrip("."), parts.port or _PORTS[scheme])


@dataclass(frozen=True, slots=True)
class Proxies:
    """Proxy addresses by scheme (may hold credentials, hence no repr) and the hosts that are reached without one."""

    by_scheme: Mapping[str, str] = field(default_factory=dict, repr=False)
    no_proxy: tuple[str, ...] = ()

    def for_url(self, url: str) -> str | None:
        """The proxy that `url` goes through, or None. Loopback never goes through one."""
        origin = Origin.of(url)
        proxy = self.by_scheme.get(origin.scheme) or self.by_scheme.get("all")
        if not proxy or origin.loopback or any(_matches(origin, pattern) for pattern in self.no_proxy):
            return None
        return proxy


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the client needs to know. `host` has no trailing slash; `concurrency` None means adaptive; `came_from` names the source of
    each value ("flag", a variable, the file, "default").
    """

    host: str = DEFAULT_HOST
    api_key: str | None = field(default=None, repr=False)
    output_dir: Path = Path()
    timeout: float = DEFAULT_TIMEOUT
    retry: int = DEFAULT_RETRY
    concurrency: int | None = None
    allow_http: bool = False
    config_path: Path = Path(DEFAULT_CONFIG)
    ca_file: str | None = None
    ca_dir: str | None = None
    proxies: Proxies = Proxies()
    update_check: bool = False
    came_from: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> Origin:
        """The only origin that is ever sent the key."""
        return Origin.of(self.host)

    def redact(self, text: str) -> str:
        """`text` with the key masked, also where it is percent- or base64-encoded."""
        if not self.api_key:
            return text
        encoded = base64.b64encode(self.api_key.encode()).decode().rstrip("=")
        for form in (self.api_key, quote(self.api_key, safe=""), encoded):
            text = text.replace(form, "***")
        return text


def load(flags: Flags | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings by precedence flag > environment > file > default; an empty string counts as unset.

    Raises `UsageError` for a host or key that cannot be used, `ConfigError` for a configuration file that cannot be read.
    """
    flags = flags or Flags()
    env = os.environ if environ is None else environ
    path = config_path(flags.config)
    profile = read_profile(path, must_exist=flags.config is not None)
    values, came_from = _resolve(flags, env, profile, path)
    allow_http = bool(flags.allow_http if flags.allow_http is not None else profile.get("allow_http", False))
    host = check_host(values.get("host") or DEFAULT_HOST)
    key = check_key(values["api_key"]) if values.get("api_key") else None
    _check_together(host, key, allow_http=allow_http)
    return Settings(
        host=host,
        api_key=key,
        output_dir=Path(values.get("output_dir") or ".").expanduser(),
        timeout=_positive(flags.timeout),
        retry=max(0, flags.retry),
        concurrency=flags.concurrency,
        allow_http=allow_http,
        config_path=path,
        ca_file=env.get("SSL_CERT_FILE") or None,
        ca_dir=env.get("SSL_CERT_DIR") or None,
        proxies=_proxies(env),
        update_check=bool(profile.get("update_check", True)) and not any(env.get(name) for name in _NO_UPDATE_CHECK),
        came_from=came_from,
    )


def config_path(given: str | None = None) -> Path:
    """The configuration file: the one given (`~` expanded), else the default one."""
    return Path(given or DEFAULT_CONFIG).expanduser()


def installer_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of pip and uv, and those that name folders of files."""
    env = os.environ if environ is None else environ
    return {name: value for name, value in env.items() if name.startswith(_INSTALLER_VARIABLES) or name in _INSTALLER_FOLDERS}


def read_profile(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """Table `[profile]` of the file; empty when the file is missing and need not exist. Raises `ConfigError` with file and line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"configuration file {path} does not exist") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {path} cannot be read: {_reason(error)}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}:{_line_of(error)}: the configuration file is not valid TOML; mend it or move it away") from None
    return _checked_profile(document.get("profile", {}), path)


def check_host(host: str) -> str:
    """`host` without trailing slashes. Raises `UsageError` unless it is http(s)://name[:port][/prefix] and nothing more."""
    shown = repr(host if "@" not in host else host.rsplit("@", 1)[1])
    try:
        parts = urlsplit(host.strip())
        Origin.of(host.strip())
    except ValueError:
        raise UsageError(f"host {shown} must be a full address such as https://bench.example.com") from None
    if _carries_more(parts) or re.search(r"[\s\x00-\x1f\\]", host.strip()):
        raise UsageError(f"host {shown} must not hold credentials, spaces, a query or a fragment")
    return host.strip().rstrip("/")


def check_key(key: str) -> str:
    """`key` without surrounding line ends. Raises `UsageError`, which does not show it, unless it is printable ASCII without spaces."""
    key = key.strip(" \t\r\n")
    if not key or not all("!" <= character <= "~" for character in key):
        raise UsageError("the API key holds characters that no key has (a space, a line end inside it, or a letter outside ASCII)")
    return key


def _resolve(flags: Flags, env: Mapping[str, str], profile: Mapping[str, Any], path: Path) -> tuple[dict[str, str], dict[str, str]]:
    values: dict[str, str] = {}
    came_from: dict[str, str] = {}
    for name, variables in _SOURCES:
        offers = [("flag", getattr(flags, name)), *((v, env.get(v)) for v in variables), (str(path), profile.get(name))]
        source, value = next(((source, value) for source, value in offers if value), ("default", ""))
        values[name], came_from[name] = value, source
    return values, came_from


def _check_together(host: str, key: str | None, *, allow_http: bool) -> None:
    origin = Origin.of(host)
    if key and key.startswith(KEY_PREFIX) and origin.host in DOCUMENTED_HOSTS:
        raise UsageError(
            f"this key was made by a Benchloop server of your own and is not sent to {origin.host}: "
            "name your server with --host, BENCHLOOP_HOST or `bl config set --host`"
        )
    if origin.scheme == "http" and not origin.loopback and not allow_http:
        raise UsageError(f"{origin} would carry key and data in clear text: use https, or allow it with --allow-http")


def _checked_profile(profile: object, path: Path) -> dict[str, Any]:
    if not isinstance(profile, dict):
        raise ConfigError(f"{path}: `profile` must be a table: [profile]")
    for names, kind, word in ((PROFILE_TEXT, str, "a string"), (PROFILE_SWITCHES, bool, "true or false")):
        for name in names:
            if not isinstance(profile.get(name, kind()), kind):
                raise ConfigError(f"{path}: `{name}` in [profile] must be {word}")
    return profile


def _carries_more(parts: SplitResult) -> bool:
    return bool(parts.username is not None or parts.password is not None or parts.query or parts.fragment)


def _positive(timeout: float) -> float:
    if not 0 < timeout < 1e7:
        raise UsageError(f"timeout must be a number of seconds above 0, not {timeout}")
    return timeout


def _proxies(env: Mapping[str, str]) -> Proxies:
    found = {}
    for scheme in ("http", "https", "all"):
        # Under CGI the upper-case variable can be set by whoever sends a request (httpoxy).
        upper = None if scheme == "http" and env.get("REQUEST_METHOD") else env.get(f"{scheme.upper()}_PROXY")
        proxy = env.get(f"{scheme}_proxy") or upper
        if proxy:
            found[scheme] = proxy if "://" in proxy else f"http://{proxy}"
    excluded = env.get("no_proxy") or env.get("NO_PROXY") or ""
    return Proxies(found, tuple(part.strip().lower() for part in excluded.split(",") if part.strip()))


def _matches(origin: Origin, pattern: str) -> bool:
    if pattern == "*":
        return True
    name, _, port = pattern.rpartition(":") if pattern.count(":") == 1 else (pattern, "", "")
    if port and port != str(origin.port):
        return False
    name = name.removeprefix("*").lstrip(".")
    return origin.host == name or origin.host.endswith(f".{name}") or _in_network(origin.host, name)


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _line_of(error: Exception) -> str:
    found = _LINE.search(str(error))
    return found.group(1) if found else "end"


def _reason(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is not UTF-8 text"
