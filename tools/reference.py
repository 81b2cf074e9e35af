"""Writes docs/reference and the page of the reasons from the code: API calls, records, errors, metrics, commands, settings, rules.

    .venv/bin/python tools/reference.py [--check] [--folder docs/reference]

With --check nothing is written; exit 1 and the names of the pages that are not in step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import msgspec

from benchloop_analysis import behaviours, ruleset
from benchloop_analysis.behaviours.records import Behaviour
from benchloop_analysis.matchers.registry import CONDITIONS, MATCHERS
from benchloop_client.cli.app import ROOT
from benchloop_client.contract import analysis, bulk, metrics, resources, summaries, workspace
from benchloop_client.contract.errors import STATUS, ErrorBody
from benchloop_client.contract.operations import OPERATIONS
from benchloop_server import cli as server_cli

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

ROOT_FOLDER = Path(__file__).resolve().parents[1]
REFERENCE = ROOT_FOLDER / "docs" / "reference"
STATEMENTS = ROOT_FOLDER / "tests" / "joined" / "conformance" / "statements"
WIDTH = 100
MADE = "<!-- Written by `make docs` from the code. Change the code, not this page. -->\n"


def api() -> Iterator[str]:
    """Every route that is served, in the order of the operations table."""
    yield "Every route of the server. `row` is the number of a documented call, empty for a route of our own. The key goes in the header"
    yield "`X-API-Key`; `scope` is what it must be allowed to do. The server's own `/openapi.json` has the shapes."
    yield "Every PUT, PATCH and documented POST may be repeated, with or without an `Idempotency-Key`: the same wish is taken once.\n"
    rows = ((f"`{o.name}`", o.method, f"`{o.path}`", o.scope, o.row or "") for o in OPERATIONS.values())
    yield from _table(("name", "method", "path", "scope", "row"), rows)
    yield "\nBeside them, without a key: `/healthz` (the process runs), `/readyz` (database and blobs answer), `/openapi.json`."


def errors() -> Iterator[str]:
    """Every code and its status."""
    yield f"{_sentence(ErrorBody)}\n"
    yield '`{"error": "<one line>", "code": "<stable code>", "request_id": "<id>"}`\n'
    yield from _table(("code", "status"), ((f"`{code.value}`", str(status)) for code, status in STATUS.items()))


def metric_names() -> Iterator[str]:
    """Every metric, its unit and denominator."""
    yield "A value that was not recorded is null, never 0.\n"
    for title, named in (
        ("Group: run_metrics", metrics.GROUP_RUN),
        ("Job: run_metrics", metrics.JOB_RUN),
        ("Job: tokenized_metrics", metrics.JOB_TOKEN),
    ):
        yield f"## {title}\n"
        yield from _table(("name", "what it counts"), ((f"`{name}`", text) for name, text in named.items()))
        yield ""
    yield "## Group: tokenized_metrics\n"
    yield "Mean, largest and sum, over the jobs that have the value, of the job's values named above: " + ", ".join(
        f"`{name}`" for name in metrics.group_token_names()
    )


def records() -> Iterator[str]:
    """Every record of the contract with its fields."""
    yield "What is sent and answered. A field with `None` among its types may be null: the fact was not recorded."
    for module in (resources, bulk, workspace, analysis):
        yield from _structs(module)


def numbers() -> Iterator[str]:
    """Every record of what is computed over many jobs."""
    yield _paragraphs(summaries.__doc__)
    yield from _structs(summaries)


def _structs(module: ModuleType) -> Iterator[str]:
    for kind in vars(module).values():
        if (
            isinstance(kind, type)
            and kind.__module__ == module.__name__
            and issubclass(kind, msgspec.Struct)
            and msgspec.structs.fields(kind)
        ):
            yield f"\n## {kind.__name__}\n\n{_paragraphs(kind.__doc__)}\n"
            types = _annotations(kind)
            yield from _table(
                ("field", "type", "needed"),
                ((f"`{f.encode_name}`", f"`{types[f.name]}`", _needed(f)) for f in msgspec.structs.fields(kind)),
            )


def command_line() -> Iterator[str]:
    """The help of `bl` and of every command below it."""
    yield "`bl` and `bmcli` are the same program."
    yield from _help(ROOT, _context(ROOT, "bl"))


def server() -> Iterator[str]:
    """The help of `benchloop-server` and of every command below it."""
    yield "Options win over variables, variables over defaults."
    yield from _help(server_cli.main, _context(server_cli.main, "benchloop-server"))


def compatibility() -> Iterator[str]:
    """Every statement about the original client, with what is the same here and what differs on purpose."""
    sections = [tomllib.loads(path.read_text("utf-8")) for path in sorted(STATEMENTS.glob("*.toml"))]
    verdicts = [row["verdict"] for section in sections for row in section["row"]]
    yield "What is documented of the original client and its protocol, statement by statement, and what this one does: the same, or"
    yield "something better on purpose, and what a script that was written for the original sees of that. A test holds each row, on"
    yield "our server and on servers that answer in every shape the protocol leaves open; `tests/joined/conformance/statements` names it.\n"
    yield ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts)) + f", {len(verdicts)} in all."
    for section in sections:
        yield f"\n## {section['title']}\n"
        yield from _table(("row", "the original", "here", "a script sees"), map(_statement, section["row"]))


def _statement(row: dict[str, Any]) -> tuple[str, ...]:
    """A row of the page. Raises `KeyError` for one without an answer."""
    if row["verdict"] == "same":
        return row["id"], row["says"], "same", "the same"
    return row["id"], row["says"], f"**{row['verdict']}**: {row['how']}", row["sees"]


_RULES = """Why a job failed is told by rules. Each rule looks for one thing and has to show the place where it found it: a step, a fact or
a line of a log, quoted word for word. The first reason in this order that has evidence is the job's; what else was found stands beside it.
Where nothing is evidence the answer is `unknown`.

- An error that the agent got over does not count.
- Whether the reward means anything is decided apart: a rule marked **reward invalid** takes it away, whatever number stands there.
- *Tier* says what the evidence is: A a recorded fact, B the shape of the run, C words found in it, D what is left.
- *Role*: a `primary` rule may be why a job failed, a `secondary` one is only told beside it, `integrity` is a suspicion that changes no
  reward and is told of passes too.
"""


def failure_reasons() -> Iterator[str]:
    """Every reason and rule that comes with the package."""
    rules = ruleset.default()
    yield _RULES
    yield f"The rules are files; [others can be added](../reference/rules.md). The version kept with each verdict is now `{rules.version}`."
    for name, reason in sorted(rules.reasons.items(), key=lambda item: item[1].order):
        own = [bound.rule for bound in rules.rules if bound.rule.reason == name]
        yield f"\n## {name}\n\n{reason.says} Side at fault: {reason.fault_side}.\n"
        if own:
            head = ("sub-reason", "rule", "tier", "role", "what it says", "where it comes from", "elsewhere")
            yield from _table(head, (_rule(rule) for rule in own))


def _rule(rule: ruleset.Rule) -> tuple[str, ...]:
    role = f"{rule.role}, **reward invalid**" if rule.reward else rule.role
    return f"`{rule.sub}`", f"`{rule.id}`", rule.tier, role, rule.says, "; ".join(rule.source), "; ".join(rule.map)


_BEHAVIOURS = """What is looked for in every run, without a model.
[What the words mean](../concepts/behaviours.md): edit, check, step, result, does not apply.

- *Kind*: `yes/no`, or a `share` between 0 and 1.
- *When*: `early` is decided at the beginning, `terminal` by how the run ends: terminal ones nearly restate the outcome and stand in no
  landmark and in no model.
- *Expected*: what people would expect it to go with: + good work, − bad work. It is only shown; no test uses it.
"""


def behaviour_catalogue() -> Iterator[str]:
    """Every behaviour by category, and the actions that patterns are made of."""
    yield _BEHAVIOURS
    yield f"The version of the catalogue, kept with what was seen, is `{behaviours.CATALOGUE_VERSION}`."
    for category in dict.fromkeys(one.category for one in behaviours.CATALOGUE):
        yield f"\n## {category.replace('_', ' ').capitalize()}\n"
        rows = (_behaviour(one) for one in behaviours.CATALOGUE if one.category == category)
        yield from _table(("id", "name", "what is seen", "applies when", "kind", "when", "expected"), rows)
    yield "\n## Actions\n"
    yield "Patterns are rows of these actions of the agent:\n"
    yield ", ".join(f"`{name}`" for name in behaviours.ACTIONS.values())


def _behaviour(one: Behaviour) -> tuple[str, ...]:
    expected = {1: "+", -1: "−", 0: ""}[one.prior]
    kind = {"binary": "yes/no", "ratio": "share"}[one.kind] if one.scored else "number, not compared"
    return one.id, f"`{one.name}`", one.definition, one.applies or "Always.", kind, "" if one.timing == "any" else one.timing, expected


def rule_files() -> Iterator[str]:
    """How a rule file is written."""
    yield "A rule file is YAML. It adds to the rules that come with the package; a rule with the id of another replaces it."
    yield "A mistake is told with the file and the line.\n"
    yield _EXAMPLE
    yield "\n## The file\n"
    yield from _table(("key", "what it holds"), _FILE_KEYS)
    yield f"\n## A rule\n\n{_paragraphs(ruleset.Rule.__doc__)}\n"
    yield from _fields(ruleset.Rule)
    yield "\n## Conditions (`when`)\n"
    yield ", ".join(f"`{name}`" for name in CONDITIONS)
    yield "\n## Matchers (`match`)"
    for name, matcher in sorted(MATCHERS.items()):
        yield f"\n### {name}\n\n{matcher.says}\n"
        if msgspec.structs.fields(matcher.params):
            yield f"{_paragraphs(matcher.params.__doc__)}\n"
            yield from _fields(matcher.params)


_EXAMPLE = """```yaml
name: house
version: 1
rules:
  - id: house-gpu
    reason: environment_error
    sub: gpu_missing
    tier: B
    says: "There was no GPU ({times} calls)."
    match: unrecovered
    with: {patterns: ["CUDA is not available"]}
    source: ["our cluster"]
disable: [wrong-target]
```"""
_FILE_KEYS = (
    ("`name`, `version`", "what the set of rules is called; both are part of the version that is kept with each verdict"),
    ("`reasons`", "reasons of your own: `order`, `fault_side`, `says`"),
    ("`rules`", "the rules"),
    ("`signals`", "what is counted in each job for its group: `name`, `says`, and a regular expression over `command` or `arguments`"),
    ("`disable`", "ids of rules that are not to look"),
)


def _fields(kind: type) -> Iterator[str]:
    types = _annotations(kind)
    rows = ((f"`{f.encode_name}`", f"`{types[f.name]}`", _needed(f)) for f in msgspec.structs.fields(kind))
    yield from _table(("field", "type", "needed"), rows)


PAGES = {
    "api.md": ("API", api),
    "behaviours.md": ("Behaviours", behaviour_catalogue),
    "cli.md": ("The command line", command_line),
    "compatibility.md": ("Compatibility with the original", compatibility),
    "errors.md": ("Error codes", errors),
    "metrics.md": ("Metrics", metric_names),
    "records.md": ("Records", records),
    "rules.md": ("Rule files", rule_files),
    "summaries.md": ("Summaries", numbers),
    "server.md": ("The server", server),
}


#: Pages beside the reference, by their way from it.
ELSEWHERE = {"../concepts/failure-reasons.md": ("Why a job failed", failure_reasons)}


def pages() -> dict[str, str]:
    """File name → whole text, of every page."""
    listed = {**PAGES, **ELSEWHERE}
    made = {name: f"{MADE}\n# {title}\n\n" + "\n".join(lines()).rstrip() + "\n" for name, (title, lines) in listed.items()}
    index = "\n".join(f"- [{title}]({name})" for name, (title, _) in PAGES.items())
    return {"README.md": f"{MADE}\n# Reference\n\n{index}\n", **made}


def _help(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"\n## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _help(child, _context(child, name, parent=context))


def _context(command: click.Command, name: str, *, parent: click.Context | None = None) -> click.Context:
    return command.make_context(name, [], parent=parent, resilient_parsing=True, max_content_width=WIDTH, terminal_width=WIDTH)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _needed(field: Any) -> str:
    return "yes" if field.required else ""


def _annotations(kind: type) -> dict[str, str]:
    return {name: text for base in reversed(kind.__mro__) for name, text in vars(base).get("__annotations__", {}).items()}


def _paragraphs(text: str | None) -> str:
    return "\n".join(line.strip() for line in (text or "").strip().splitlines())


def _sentence(kind: type) -> str:
    return _paragraphs(kind.__doc__).split("\n\n")[0]


def main() -> int:
    """Write the pages, or look whether they are in step."""
    parser = argparse.ArgumentParser(description="docs/reference from the code")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=Path, default=REFERENCE)
    arguments = parser.parse_args()
    made = pages()
    folder: Path = arguments.folder
    here = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} if folder.is_dir() else {}
    here.update({name: (folder / name).read_text("utf-8") for name in ELSEWHERE if (folder / name).is_file()})
    stale = sorted(name for name in made.keys() | here.keys() if made.get(name) != here.get(name))
    if arguments.check:
        if stale:
            print(f"not in step with the code, run `make docs`: {', '.join(stale)}", file=sys.stderr)
        return int(bool(stale))
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in made:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(made[name], "utf-8")
        else:
            (folder / name).unlink()
    print(f"{len(made)} pages, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
