"""Behaviours of efficiency: work that is done again, loops, text that is written and thrown away."""

from __future__ import annotations

from benchloop_analysis.behaviours.acts import Act, Edit
from benchloop_analysis.behaviours.view import Found, Run, View, binary

_ROW = 3
_SHORT = 3
_MOST_LINES = 5_000
_CHANGES = frozenset({"edit", "write", "delete", "install", "vcs"})
_CHECKS = frozenset({"test", "build"})


def duplicate_calls(view: View) -> Found | None:
    """F1."""
    if not view.calls:
        return None
    known: dict[str, Act] = {}
    again: list[Act] = []
    for act in view.calls:
        event = act.event
        before = known.get(event.key)
        if before is not None and (event.kind in _CHECKS or before.event.output_key == event.output_key):
            again.append(act)
        if act.changes or event.writes or (event.kind in _CHANGES and not act.failed):
            known.clear()
        known[event.key] = act
    return Found(len(again) / len(view.calls), again)


def loop_3(view: View) -> Found | None:
    """F2."""
    if len(view.calls) < _ROW:
        return None
    row = view.run.once(_first_loop)
    return binary(row if row and row[-1].place < view.end else [])


def _first_loop(run: Run) -> list[Act]:
    """The calls of the first loop; none without one."""
    calls = run.calls
    pairs = [(act.event.key, act.event.output_key) for act in calls]
    for at in range(_ROW - 1, len(pairs)):
        if pairs[at] == pairs[at - 1] == pairs[at - 2]:
            return calls[at - 2 : at + 1]
        if at >= _ROW and pairs[at] == pairs[at - 2] and pairs[at - 1] == pairs[at - 3]:
            return calls[at - 3 : at + 1]
    return []


def edit_churn(view: View) -> Found | None:
    """F3."""
    written = replaced = 0
    shown: list[Act] = []
    for act, fresh, gone in view.run.once(line_counts):
        if act.place >= view.end:
            break
        written += fresh
        replaced += gone
        if gone:
            shown.append(act)
    return Found(min(1.0, replaced / written), shown) if written else None


def line_counts(run: Run) -> list[tuple[Act, int, int]]:
    """For each edit, how many lines it writes and how many lines of the agent it replaces or removes."""
    lines: dict[str, dict[str, int]] = {}
    counted = []
    for act in run.edits:
        fresh = gone = 0
        for edit in act.edits:
            added, removed = _counts(edit, lines.setdefault(edit.path, {}))
            fresh += added
            gone += removed
        counted.append((act, fresh, gone))
    return counted


def _counts(edit: Edit, own: dict[str, int]) -> tuple[int, int]:
    """Lines that an edit adds and takes away; `own`, the agent's lines in that file, is brought up to date."""
    if edit.new is None:
        return 0, 0
    new, old = _lines(edit.new), _lines(edit.old or "")
    goes = [line for line in (own if edit.whole else old) if line in own and line not in new]
    removed = sum(own.pop(line) for line in goes)
    added = 0
    for line, count in new.items():
        more = count - (own.get(line, 0) if edit.whole else old.get(line, 0))
        if more > 0:
            added += more
            own[line] = own.get(line, 0) + more
    return added, removed


def _lines(text: str) -> dict[str, int]:
    counted: dict[str, int] = {}
    for line in text.splitlines()[:_MOST_LINES]:
        bare = line.strip()
        if len(bare) >= _SHORT:
            counted[bare] = counted.get(bare, 0) + 1
    return counted


def relative_length(view: View) -> Found | None:
    """F4. Filled in where the attempts stand together; one run alone does not say."""
    return None
