"""Figures as one HTML page that needs nothing else: no server, no network."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

from benchloop_analysis.figure_parts import Figure, resolved
from benchloop_analysis.markdown import visible

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = (
    "body{font:14px/20px system-ui,sans-serif;color:#1b1e21;margin:24px;max-width:1100px}h1{font-size:20px}"
    "figure{margin:0 0 24px}pre{white-space:pre-wrap}"
)
_DRAW = (
    "for(const place of document.querySelectorAll('[data-figure]')){"
    "const figure=JSON.parse(document.getElementById(place.dataset.figure).textContent);"
    "Plotly.newPlot(place,figure.data,figure.layout,{responsive:true,displaylogo:false});}"
)


def page(figures: Sequence[Figure], *, title: str, script: str, text: str = "") -> str:
    """The page. `script` is plotly's JavaScript; `title` and `text` are shown as they are, whatever stands in them."""
    heading = html.escape(visible(title))
    below = f"<pre>{html.escape(visible(text, lines=True))}</pre>\n" if text else ""
    drawn = "\n".join(_figure(place, one) for place, one in enumerate(figures))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{heading}</title>\n<style>{_STYLE}</style>\n'
        f"<script>{_inside(script)}</script>\n</head>\n<body>\n<h1>{heading}</h1>\n{drawn}\n{below}"
        f"<script>{_DRAW}</script>\n</body>\n</html>\n"
    )


def _figure(place: int, one: Figure) -> str:
    said = html.escape(str(one["layout"].get("title", {}).get("text", "")))
    data = _data(resolved(one))
    return (
        f'<figure role="img" aria-label="{said}"><div data-figure="figure-{place}"></div></figure>\n'
        f'<script type="application/json" id="figure-{place}">{data}</script>'
    )


def _data(figure: Figure) -> str:
    """JSON in which nothing ends the element that it stands in."""
    written = json.dumps(figure, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _inside(script: str) -> str:
    """JavaScript in which nothing ends the element: a slash may be escaped in its strings and patterns, where alone these can stand."""
    return script.replace("</script", "<\\/script").replace("</SCRIPT", "<\\/SCRIPT").replace("<!--", "<\\!--")
