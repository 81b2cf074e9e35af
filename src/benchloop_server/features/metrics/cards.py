"""A group in one line: how many jobs came to what, what they cost, and how the pass rate went over the training steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from benchloop_client.contract.resources import Group
from benchloop_client.contract.summaries import Outcomes, Rate, RewardValidity, Total
from benchloop_server.features.metrics import repository, shapes
from benchloop_server.kit.principal import Principal
from benchloop_server.kit.services import Services

_BYTES = 2_000


class StepRate(msgspec.Struct, frozen=True, kw_only=True):
    """Passed / attempts of one training step; `value` None without attempts."""

    step: int
    value: float | None
    numerator: int
    denominator: int


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One group. `steps` in order, empty where jobs have none; `tokens` are input and output together; `cost_usd` in US dollars."""

    group_id: str
    present: int
    outcomes: Outcomes
    validity: RewardValidity
    pass_rate: Rate
    cost_usd: Total
    tokens: Total
    steps: list[StepRate]


def of(services: Services, principal: Principal, groups: Sequence[Group]) -> list[Card]:
    """The card of each group, in order; at most some seconds old where nothing was pushed meanwhile."""
    key = ("cards", principal.workspace_id, *((group.group_id, group.updated_at) for group in groups))
    return services.glimpses.get(key, lambda: _made(services, principal, groups), weight=lambda made: _BYTES * (1 + len(made)))


def _made(services: Services, principal: Principal, groups: Sequence[Group]) -> list[Card]:
    with services.db.read() as connection:
        rows = repository.by_group(connection, principal, [group.group_id for group in groups])
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.group_id, []).append(row)
    return [_card(group.group_id, found.get(group.group_id, [])) for group in groups]


def _card(group_id: str, rows: list[Any]) -> Card:
    outcomes = Outcomes(**_sums(rows, Outcomes.__struct_fields__))
    validity = _sums(rows, tuple(f"reward_{name}" for name in RewardValidity.__struct_fields__))
    stepped = sorted((row for row in rows if row.step is not None), key=lambda row: row.step)
    return Card(
        group_id=group_id,
        present=sum(row.present for row in rows),
        outcomes=outcomes,
        validity=RewardValidity(**{name.removeprefix("reward_"): number for name, number in validity.items()}),
        pass_rate=shapes.pass_rate(outcomes),
        cost_usd=_total(rows, "cost"),
        tokens=_total(rows, "token"),
        steps=[_step(row) for row in stepped],
    )


def _step(row: Any) -> StepRate:
    rate = shapes.pass_rate(shapes.outcomes(row))
    return StepRate(step=row.step, value=rate.value, numerator=rate.numerator, denominator=rate.denominator)


def _sums(rows: Iterable[Any], names: Iterable[str]) -> dict[str, int]:
    kept = list(rows)
    return {name: sum(int(getattr(row, name)) for row in kept) for name in names}


def _total(rows: Iterable[Any], name: str) -> Total:
    known = [row for row in rows if getattr(row, f"{name}_jobs")]
    jobs = sum(int(getattr(row, f"{name}_jobs")) for row in known)
    total = sum(float(getattr(row, f"{name}_total")) for row in known)
    return Total(jobs=jobs, total=total if jobs else None, mean=total / jobs if jobs else None)
