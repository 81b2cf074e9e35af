"""What every call of the library stands on: the connection to a server, who watches, and how ids and filters are given."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from benchloop_client import client as api
from benchloop_client.actions.events import Watch, unwatched
from benchloop_client.actions.layout import Layout
from benchloop_client.actions.selection import EVERY
from benchloop_client.actions.work import Work
from benchloop_client.contract.resources import DownloadTaskCreate, Version
from benchloop_client.errors import UsageError
from benchloop_client.settings import Flags, Settings, load

#: One id, or several.
Ids = str | Iterable[str]

#: Filters that every server knows; the others need feature `filters`.
_DOCUMENTED = frozenset({"template", "status", "instance_id"})
_FILTERS = frozenset(field.name for field in msgspec.structs.fields(DownloadTaskCreate)) - {"group_id"}


class Connected:
    """The connections to one server, which `close` gives back."""

    def __init__(
        self,
        host: str | None = None,
        api_key: str | None = None,
        *,
        profile: str | None = None,
        config: str | None = None,
        allow_http: bool | None = None,
        settings: Settings | None = None,
        watch: Watch = unwatched,
    ) -> None:
        """What is not given comes from the environment and the configuration file, as for `bl`. `config` is the path of that file,
        `profile` names a table in it.

        `settings` (of `benchloop_client.load`) replaces all of it. `watch` is called with each event of `benchloop_client.actions.events`,
        from several threads. Raises `UsageError` for a host or key that cannot be used, `ConfigError` for a file that cannot be read.
        """
        self._flags = Flags(host=host, api_key=api_key, profile=profile, config=config, allow_http=allow_http)
        self.settings = settings or load(self._flags)
        #: Set it from another thread and every call ends within a second with `Cancelled`.
        self.cancel = threading.Event()
        #: One short method per API call, for what has no call here.
        self.api = api.Client(self.settings, self.cancel)
        self._watch = watch
        #: Which jobs the downloads of groups and download tasks mean; see `Client.select`.
        self.selection = EVERY

    def __repr__(self) -> str:
        return f"{type(self).__name__}(host={self.settings.host!r})"

    def close(self) -> None:
        """Close the connections; iterators that are still open end with an error."""
        self.api.close()

    def server_version(self) -> Version | None:
        """Which server answers and what it can do; None for one that does not say."""
        return self.api.server_version()

    def _work(self, *, pretty: bool = True) -> Work:
        return Work(self.api, watch=self._watch, layout=Layout(pretty=pretty), selection=self.selection)

    def _filters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Filters of the job list as they are sent. Raises `UsageError` for one that does not exist or that this server does not know."""
        filters = {name: _sent(value) for name, value in given.items() if value is not None}
        unknown = sorted(set(filters) - _FILTERS)
        if unknown:
            raise UsageError(f"jobs cannot be filtered by {', '.join(unknown)}; there are {', '.join(sorted(_FILTERS))}")
        more = sorted(set(filters) - _DOCUMENTED)
        if more and not self.api.has("filters"):
            raise UsageError(f"the server at {self.settings.origin} cannot filter jobs by {', '.join(more)}")
        return filters


def each(ids: Ids | None) -> tuple[str, ...]:
    """Ids in the order given, each once; a text is one id."""
    if ids is None:
        return ()
    return (ids,) if isinstance(ids, str) else tuple(dict.fromkeys(ids))


def _sent(value: Any) -> Any:
    """Several values become a comma list: one of them has to fit."""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, set, frozenset)) else value
