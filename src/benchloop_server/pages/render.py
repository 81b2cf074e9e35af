"""Templates become documents: one Jinja environment, strict and escaping, and the frame of facts that every page shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from benchloop_analysis.wilson import wilson
from benchloop_client.contract.version import __version__
from benchloop_server.kit.clock import format_time
from benchloop_server.pages import formatting
from benchloop_server.pages.page import Asked, Fragment, Page, changed, command, path_of, with_query
from benchloop_server.pages.static import plotly_url, static_url

_TEMPLATES = Path(__file__).parents[1] / "templates"
_SCRIPT_SIGNS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
THEMES = ("light", "dark")


@cache
def environment() -> Environment:
    """The one environment. A name that is not there is an error, and every text is escaped."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters |= {**formatting.FILTERS, "data": as_data}
    made.globals |= {
        "static": static_url,
        "plotly": plotly_url,
        "path_of": path_of,
        "with_query": with_query,
        "changed": changed,
        "rate_of": formatting.rate,
        "interval_of": formatting.interval,
        "wilson": wilson,
        "ago": formatting.ago,
        "command": command,
        "version": __version__,
    }
    return made


def as_data(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
    for sign, escaped in _SCRIPT_SIGNS.items():
        text = text.replace(sign, escaped)
    return Markup(text)


def document(asked: Asked | None, page: Page, *, twin: str, theme: str | None, now: int) -> str:
    """The page as HTML. `asked` None: nobody is signed in. `twin`: the address of the same as JSON."""
    return (
        environment()
        .get_template(page.template)
        .render(
            **page.data,
            page=page,
            me=None if asked is None else asked.principal,
            here="" if asked is None else asked.path,
            query=() if asked is None else asked.query,
            twin=twin,
            theme=theme if theme in THEMES else None,
            now=format_time(now),
        )
    )


def part(asked: Asked, fragment: Fragment, *, now: int) -> str:
    """The fragment as HTML."""
    data: Mapping[str, Any] = fragment.data
    return environment().get_template(fragment.template).render(**data, here=asked.path, query=asked.query, now=format_time(now))
