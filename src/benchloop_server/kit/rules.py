"""The rules of the analysis as the settings name them: texts, and a digest that changes with them and with this program's version."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from benchloop_client.contract.version import __version__


@dataclass(frozen=True, slots=True)
class Rules:
    """`texts` are (name, text) of the rule files beside the built-in ones, in the order in which they count."""

    texts: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Verdicts made under another digest may say something else under these rules."""
        found = hashlib.sha256(__version__.encode())
        for _, text in self.texts:
            found.update(hashlib.sha256(text.encode()).digest())
        return found.hexdigest()[:16]
