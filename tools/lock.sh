#!/usr/bin/env bash
# Resolves the lock files anew: every package pinned and hashed for all Pythons and systems, without the address of any index.
set -euo pipefail
cd "$(dirname "$0")/.."
compile=(uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-header "$@")

"${compile[@]}" pyproject.toml --extra server --extra postgres --group dev --output-file requirements/dev.lock
# What the demo needs is a part of it, in the same versions: the programs, and what builds this checkout.
"${compile[@]}" pyproject.toml requirements/build.in --extra server --constraint requirements/dev.lock --output-file requirements/demo.lock
