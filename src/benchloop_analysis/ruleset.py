"""Rules as data: read from texts, checked against their schema with the line of each mistake, and put together to one versioned set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from string import Formatter
from typing import Any, Literal

import msgspec
import yaml  # type: ignore[import-untyped, unused-ignore]

from benchloop_analysis import packaged
from benchloop_analysis.matchers import bridge, failing_calls, integrity, limits, process, recorded, task, told
from benchloop_analysis.matchers.registry import CONDITIONS, MATCHERS, Params
from benchloop_analysis.records import FaultSide, Tier

#: The modules whose import registers the matchers.
MODULES = (bridge, failing_calls, integrity, limits, process, recorded, task, told)
_PLACE = re.compile(r"^(?P<problem>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.?([A-Za-z_][\w-]*)|\[(\d+|\.\.\.)\]")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,79}\Z")

#: primary: may be why a job failed; secondary: only told beside it; integrity: a suspicion, on passes too.
Role = Literal["primary", "secondary", "integrity"]


class BadRules(ValueError):
    """A rule file that cannot be used. One sentence, with the file and the line."""


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reason. The lowest `order` that fires is the job's; `fault_side` holds where a rule does not say."""

    order: int
    fault_side: FaultSide
    says: str


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"with_": "with"}):
    """One rule. `when` names conditions that all have to hold, `match` a matcher and `with` its parameters.

    `says` is a sentence with places such as `{times}`. `reward: invalid`: where it fires the reward means nothing. `source`: where the rule
    comes from. `map`: what it is called in other taxonomies. `doubts`: reasons whose side is not known where it fires.
    """

    id: str
    reason: str
    sub: str
    tier: Tier
    says: str
    match: str
    source: list[str]
    role: Role = "primary"
    when: list[str] = []
    with_: dict[str, Any] = {}
    reward: Literal["invalid"] | None = None
    fault_side: FaultSide | None = None
    map: list[str] = []
    doubts: list[str] = []


class SignalRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to count in each job: calls whose shell `command` or `arguments` (as JSON) fit, or (`of: last`) an empty last turn."""

    name: str
    says: str
    of: Literal["calls", "last"] = "calls"
    command: str | None = None
    arguments: str | None = None

    def __post_init__(self) -> None:
        for pattern in (self.command, self.arguments):
            try:
                re.compile(pattern or "")
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: int
    reasons: dict[str, Reason] = {}
    rules: list[Rule] = []
    signals: list[SignalRule] = []
    disable: list[str] = []


class Bound(msgspec.Struct, frozen=True):
    """A rule with its parameters read."""

    rule: Rule
    params: Params
    fault_side: FaultSide
    order: tuple[int, int]


class RuleSet(msgspec.Struct, frozen=True):
    """All rules in order of precedence. `version` names the files and digests their texts: equal versions judge alike."""

    version: str
    reasons: Mapping[str, Reason]
    rules: tuple[Bound, ...]
    signals: tuple[SignalRule, ...]


@cache
def default() -> RuleSet:
    """The rules that come with the package."""
    return load(())


def load(extra: Sequence[tuple[str, str]], *, builtin: bool = True) -> RuleSet:
    """Our rules and those of the `extra` files, given as `(name, text)`; a later rule replaces an earlier one with its id.

    Raises `BadRules`.
    """
    own = tuple((name, packaged.text(name)) for name in packaged.names("rules")) if builtin else ()
    parsed = [(name, _parse(name, text, builtin=place < len(own))) for place, (name, text) in enumerate((*own, *extra))]
    reasons = {key: reason for _, (file, _) in parsed for key, reason in file.reasons.items()}
    bound: dict[str, Bound] = {}
    for name, (file, lines) in parsed:
        for gone in file.disable:
            if bound.pop(gone, None) is None:
                raise BadRules(f"{name}, line {_line(lines, ('disable',))}: there is no rule {gone!r} to disable")
        for place, rule in enumerate(file.rules):
            bound[rule.id] = _bind(name, rule, ("rules", place), lines, reasons, len(bound))
    files = dict.fromkeys(f"{file.name}-{file.version}" for _, (file, _) in parsed)
    return RuleSet(
        version=f"{'+'.join(files)}@{_digest(text for _, text in (*own, *extra))}",
        reasons=reasons,
        rules=tuple(sorted(bound.values(), key=lambda one: one.order)),
        signals=tuple({signal.name: signal for _, (file, _) in parsed for signal in file.signals}.values()),
    )


def _digest(texts: Iterable[str]) -> str:
    digest = sha256()
    for text in texts:
        digest.update(sha256(text.encode()).digest())
    return digest.hexdigest()[:12]


_Path = tuple[Any, ...]


class _Places:
    """The line of every place in a YAML text; looked up only where something is wrong, as that takes longer than reading the text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def lines(self) -> dict[_Path, int]:
        """Path → line."""
        found: dict[_Path, int] = {}
        _note_lines(packaged.parse_with_places(self._text)[1], (), found)
        return found


def _parse(name: str, text: str, *, builtin: bool = False) -> tuple[_File, _Places]:
    try:
        value = packaged.value(name) if builtin else packaged.parse(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise BadRules(f"{name}{where}: not YAML: {getattr(error, 'problem', None) or error}") from None
    if value is None:
        raise BadRules(f"{name}: the file is empty")
    places = _Places(text)
    return _converted(name, value, _File, (), places), places


def _note_lines(node: Any, path: _Path, lines: dict[_Path, int]) -> None:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, key.value)
            _note_lines(value, inner, lines)
            lines[inner] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            _note_lines(value, (*path, place), lines)


def _converted(name: str, value: Any, kind: type[Any], base: _Path, lines: _Places) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        match = _PLACE.match(str(error))
        problem, path = (match["problem"], match["path"] or "") if match is not None else (str(error), "")
        steps = tuple(int(index) if index.isdigit() else key for key, index in _STEP.findall(path))
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in (*base, *steps)).lstrip(".")
        raise BadRules(f"{name}, line {_line(lines, (*base, *steps))}: {problem}{f' ({where})' if where else ''}") from None


def _line(places: _Places, path: _Path) -> int:
    """The line of a place, or of the nearest one around it that is known."""
    while path and path not in places.lines:
        path = path[:-1]
    return places.lines.get(path, 1)


def _bind(name: str, rule: Rule, path: _Path, lines: _Places, reasons: Mapping[str, Reason], place: int) -> Bound:
    problem = _problem(rule, reasons)
    if problem is not None:
        field, sentence = problem
        raise BadRules(f"{name}, line {_line(lines, (*path, field))}: rule {rule.id!r}: {sentence}")
    params = _converted(name, rule.with_, MATCHERS[rule.match].params, (*path, "with"), lines)
    reason = reasons[rule.reason]
    return Bound(rule, params, rule.fault_side or reason.fault_side, (reason.order, place))


def _problem(rule: Rule, reasons: Mapping[str, Reason]) -> tuple[str, str] | None:
    """What is wrong with a rule beside its shape, and in which field."""
    if not _NAME.match(rule.id):
        return "id", "an id is made of lower-case letters, digits, `-` and `_`, and begins with a letter"
    if not _NAME.match(rule.sub):
        return "sub", f"the sub-reason {rule.sub!r} is made of other signs than lower-case letters, digits, `-` and `_`"
    if rule.reason not in reasons:
        return "reason", f"there is no reason {rule.reason!r}; there are {', '.join(reasons)}"
    if rule.match not in MATCHERS:
        return "match", f"there is no matcher {rule.match!r}; there are {', '.join(sorted(MATCHERS))}"
    unknown = next((condition for condition in rule.when if condition not in CONDITIONS), None)
    if unknown is not None:
        return "when", f"there is no condition {unknown!r}; there are {', '.join(CONDITIONS)}"
    doubted = next((reason for reason in rule.doubts if reason not in reasons), None)
    if doubted is not None:
        return "doubts", f"there is no reason {doubted!r}; there are {', '.join(reasons)}"
    if not rule.source:
        return "source", "it has to say where it comes from"
    return _problem_of_sentence(rule.says)


def _problem_of_sentence(says: str) -> tuple[str, str] | None:
    try:
        places = [name for _, name, _, _ in Formatter().parse(says) if name is not None]
    except ValueError as error:
        return "says", f"the sentence cannot be filled in: {error}"
    odd = next((name for name in places if not name.isidentifier()), None)
    return None if odd is None else ("says", f"{{{odd}}} is no place of a sentence: only plain names in braces are filled in")
