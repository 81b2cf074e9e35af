"""Modules that are imported when first used, so that help and usage errors load neither the HTTP library nor the JSON library."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def lazy(name: str) -> ModuleType:
    """A stand-in for the module `name` that imports it at the first look at one of its names."""
    return _Lazy(name)
