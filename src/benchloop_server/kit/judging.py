"""Whether a model is asked for its opinion on verdicts that the rules are not sure of: which one, how often, and what it may cost."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Protocol


class Endpoint(Protocol):
    """A `benchloop_analysis.judge.Judge`, said without the analysis: loading it costs a server that answers requests half a second."""

    @property
    def model(self) -> str:
        """The model's name."""

    def ask(self, question: Any) -> Any:
        """The answer. Raises `JudgeError`."""


class JudgeError(Exception):
    """An endpoint gave no answer; one sentence without the key. `for_good`: asking again would not help. `paid`: it may have cost all the
    same.
    """

    def __init__(self, sentence: str, *, for_good: bool = False, paid: bool = False) -> None:
        super().__init__(sentence)
        self.for_good, self.paid = for_good, paid


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """`price`: US dollars for a million tokens sent, and received. `cap`: US dollars that all questions together may cost. Up to `samples`
    answers are asked for, `agree` of which have to be the same. `behaviours`: jobs of a behaviour task that it is asked about,
    too. `endpoint` answers; only workers have one, and it raises `JudgeError`.
    """

    model: str
    price: tuple[float, float]
    cap: float
    samples: int
    agree: int
    behaviours: int = 0
    endpoint: Endpoint | None = field(default=None, repr=False)

    @property
    def digest(self) -> str:
        """Opinions got under another digest were got by other means."""
        said = f"{self.model}\0{self.samples}\0{self.agree}"
        return hashlib.sha256(said.encode()).hexdigest()[:16]
