"""What the agent did, one sign for each action: what patterns are mined from."""

from __future__ import annotations

from collections.abc import Sequence

from benchloop_analysis.behaviours.acts import Act

#: Longer rows of actions are kept up to here.
MOST_ACTIONS = 1_000

#: Sign → name. A run, test or build is `_ok` where its result shows no failure, and has no suffix where no result is recorded.
ACTIONS: dict[str, str] = {
    "m": "message",
    "r": "read",
    "s": "search",
    "l": "list",
    "e": "edit",
    "w": "write",
    "d": "delete",
    "x": "run_ok",
    "X": "run_fail",
    "y": "run",
    "t": "test_ok",
    "T": "test_fail",
    "u": "test",
    "b": "build_ok",
    "B": "build_fail",
    "c": "build",
    "i": "install",
    "n": "network",
    "v": "vcs",
    "p": "plan",
    "a": "ask",
    "z": "submit",
    "0": "noop",
    "o": "other",
    "R": "read_fail",
    "S": "search_fail",
    "L": "list_fail",
    "E": "edit_fail",
    "W": "write_fail",
    "D": "delete_fail",
    "I": "install_fail",
    "N": "network_fail",
    "V": "vcs_fail",
    "P": "plan_fail",
    "A": "ask_fail",
    "Z": "submit_fail",
    "1": "noop_fail",
    "O": "other_fail",
}
_SIGNS = {name: sign for sign, name in ACTIONS.items()}
_FINE = {kind: _SIGNS.get(f"{kind}_ok", _SIGNS[kind]) for kind in (name for name in ACTIONS.values() if "_" not in name)}
_FAILED = {kind: _SIGNS.get(f"{kind}_fail", sign) for kind, sign in _FINE.items()}
_SILENT = {kind: _SIGNS[kind] for kind in ("run", "test", "build")}


def sign_of(act: Act) -> str:
    """The sign of one action of the agent."""
    event = act.event
    if act.failed or act.passed is False:
        return _FAILED[event.kind]
    return _FINE[event.kind] if event.output is not None else _SILENT.get(event.kind, _FINE[event.kind])


def row_of(acts: Sequence[Act]) -> tuple[str, tuple[int, ...], bool]:
    """The row of actions, the step id of each as the difference to the one before, and whether it is whole."""
    kept = acts[:MOST_ACTIONS]
    steps = [act.event.step_id for act in kept]
    differences = tuple(step - before for step, before in zip(steps, (0, *steps), strict=False))
    return "".join(map(sign_of, kept)), differences, len(kept) == len(acts)
