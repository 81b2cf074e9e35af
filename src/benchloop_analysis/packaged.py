"""The texts that come with this package: tables and rules as data. The only place that opens them."""

from __future__ import annotations

from functools import cache
from importlib import resources, util
from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped, unused-ignore]

_ROOT = resources.files("benchloop_analysis")
#: The reader in C where PyYAML was built with it; ten times as fast.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


#: The tables and rules as JSON, made of the YAML files by `tools/tables.py`: reading YAML costs a short run as much as its work.
COMPILED = "compiled.json"


@cache
def _compiled() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(_ROOT.joinpath(COMPILED).read_bytes())
    return found


def value(name: str) -> Any:
    """The value of a packaged YAML file."""
    found = _compiled().get(name)
    return parse(text(name)) if found is None else found


@cache
def text(name: str) -> str:
    """The text of a packaged file, such as `data/tools.yaml`."""
    return _ROOT.joinpath(*name.split("/")).read_text("utf-8")


def script_of_plotly() -> str | None:
    """The JavaScript of plotly, for pages that need nothing else; None where it is not installed."""
    found = util.find_spec("plotly")
    if found is None or found.origin is None:
        return None
    script = Path(found.origin).parent / "package_data" / "plotly.min.js"
    return script.read_text("utf-8") if script.is_file() else None


def names(folder: str) -> tuple[str, ...]:
    """The packaged YAML files of a folder, in order."""
    return tuple(sorted(f"{folder}/{entry.name}" for entry in _ROOT.joinpath(folder).iterdir() if entry.name.endswith(".yaml")))


def parse(yaml_text: str) -> Any:
    """The value of a YAML text; only plain types."""
    return yaml.load(yaml_text, Loader=LOADER)  # noqa: S506 - both loaders are the safe one


def parse_with_places(yaml_text: str) -> tuple[Any, Any]:
    """The value of a YAML text and the node that it was made of, which knows the lines; both None for an empty text."""
    loader = LOADER(yaml_text)
    try:
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    finally:
        loader.dispose()
