"""What became of a judge's questions over all jobs of a group, and what they cost."""

from __future__ import annotations

import msgspec

from benchloop_analysis.group_tally import Addable
from benchloop_analysis.judge import Opinion


class JudgeTotals(Addable):
    """Jobs that a judge was wanted for, by what came of it; `cached`: of all that have an opinion, those for which nobody was asked anew.

    `skipped`: the budget was used up before there was an opinion. `cost_usd` is what was paid.
    """

    asked: int = 0
    cached: int = 0
    refined: int = 0
    agreed: int = 0
    abstained: int = 0
    refused: int = 0
    skipped: int = 0
    cost_usd: float = 0.0
    models: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, made: Opinion | None, *, paid: float) -> None:
        """Count one job, for which so many US dollars were paid; None: there was no budget left."""
        self.cost_usd += paid
        if made is None:
            self.skipped += 1
            return
        self.cached += made.cached
        self.asked += not made.cached
        self.models[made.model] = self.models.get(made.model, 0) + 1
        setattr(self, made.status, getattr(self, made.status) + 1)

    def take(self, other: JudgeTotals) -> None:
        """Add the counts of `other`."""
        for name in ("asked", "cached", "refined", "agreed", "abstained", "refused", "skipped", "cost_usd"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for model, count in other.models.items():
            self.models[model] = self.models.get(model, 0) + count

    @property
    def wanted(self) -> int:
        """Jobs of which the rules were not sure."""
        return self.asked + self.cached + self.skipped

    def sentence(self) -> str:
        """What to tell at the end."""
        said = f"judge: {self.asked} asked, {self.cached} from the cache; "
        said += f"{self.refined} refined, {self.agreed} agreed, {self.abstained} abstained"
        unused = f", {self.refused} answers not believed" if self.refused else ""
        left = f"; {self.skipped} not asked, the budget is used up" if self.skipped else ""
        return f"{said}{unused}{left}; cost {self.cost_usd:.4f} USD"
