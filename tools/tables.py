"""Makes `benchloop_analysis/compiled.json` of the tables and rules in YAML. `--check` only says whether it is in step."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from benchloop_analysis import packaged

TARGET = Path(packaged.__file__).parent / packaged.COMPILED


def compiled() -> bytes:
    """The file as it should be."""
    names = (*packaged.names("data"), *packaged.names("rules"))
    return msgspec.json.encode({name: packaged.parse(packaged.text(name)) for name in names}) + b"\n"


def main() -> int:
    """Write the file, or look at it."""
    if "--check" not in sys.argv[1:]:
        TARGET.write_bytes(compiled())
        return 0
    if TARGET.read_bytes() == compiled():
        return 0
    sys.stderr.write(f"{TARGET.name} is not in step with the YAML files: run `python tools/tables.py`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
