"""`bl groups`: which groups the server holds, and changes to them by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session
from benchloop_client.cli.stdin import read_all

if TYPE_CHECKING:
    from benchloop_client.actions import groups as actions
else:
    actions = lazy("benchloop_client.actions.groups")


@click.group(name="groups", cls=options.Resource)
def command() -> None:
    """Groups on the server."""


@command.command(name="list", cls=options.Leaf, example="bl groups list | jq -r '.[].group_id'")
@options.print_options()
@ask.with_session
def list_(session: Session) -> int:
    """Print one JSON array with all groups, newest first."""
    return ask.print_values(session, list(actions.listed(ask.job(session))))


@command.command(cls=options.Leaf, example="bl groups get -g G1")
@options.group_option()
@options.print_options()
@ask.with_session
def get(session: Session, *, groups: tuple[str, ...]) -> int:
    """Print one JSON array, an object a group."""
    wanted = ask.groups_only(session, "groups", groups, ())
    work = ask.job(session)
    return ask.print_array(session, wanted, lambda group, layout: actions.element(work, group, layout=layout))


@command.command(cls=options.Leaf, example="bl groups delete -g G1 --yes")
@options.group_option()
@options.print_options()
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Needed where nobody can be asked.")
@ask.with_session
def delete(session: Session, *, groups: tuple[str, ...], yes: bool) -> int:
    """Delete groups with all of their jobs, for good; print one JSON array, an object a group."""
    wanted = ask.groups_only(session, "groups", groups, ())
    work = ask.job(session)
    actions.must_edit(work)
    if not yes and not _confirmed(session, wanted):
        session.output.note("nothing was deleted")
        return 1
    return ask.print_array(session, wanted, lambda group, layout: actions.deleted(work, group, layout=layout))


@command.command(cls=options.Leaf, example="bl groups rename -g G1 'nightly, new prompt'")
@options.group_option()
@options.print_options()
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--reset", is_flag=True, help="Back to the run's own name.")
@ask.with_session
def rename(session: Session, *, groups: tuple[str, ...], name: str | None, reset: bool) -> int:
    """Give a group another name, which pushes leave alone; print one JSON array with the group."""
    if (name is None) is not reset:
        raise click.UsageError("give a NAME, or --reset for the run's own one")
    groups = ask.groups_only(session, "groups", groups, ())
    if len(groups) > 1 and not reset:
        raise click.UsageError("one name is for one group")
    return _edit(session, groups, lambda _group: {"name": name})


@command.command(cls=options.Leaf, example="bl groups tag -g G1 baseline --remove draft")
@options.group_option()
@options.print_options()
@click.argument("tags", nargs=-1, metavar="[TAG...]")
@click.option("--remove", "removed", multiple=True, metavar="TAG", help="Take this tag off (repeatable).")
@click.option("--clear", is_flag=True, help="Take all tags off first.")
@ask.with_session
def tag(session: Session, *, groups: tuple[str, ...], tags: tuple[str, ...], removed: tuple[str, ...], clear: bool) -> int:
    """Put tags on groups or take them off, which pushes leave alone; print one JSON array, an object a group."""
    if not (tags or removed or clear):
        raise click.UsageError("give a TAG, --remove TAG or --clear")
    wanted = actions.Tags(tuple(map(str.strip, tags)), tuple(map(str.strip, removed)), clear)
    return _edit(session, ask.groups_only(session, "groups", groups, ()), actions.retagged(wanted))


@command.command(cls=options.Leaf, example="bl groups note -g G1 'second try after the timeout fix'")
@options.group_option()
@options.print_options()
@click.argument("text", required=False, metavar="[TEXT]")
@click.option("--clear", is_flag=True, help="Take the note away.")
@ask.with_session
def note(session: Session, *, groups: tuple[str, ...], text: str | None, clear: bool) -> int:
    """Write a note on groups in place of the one they have; '-' reads it from stdin. Print one JSON array, an object a group."""
    if (text is None) is not clear:
        raise click.UsageError("give a TEXT ('-' reads it from stdin), or --clear")
    if text == "-" and "-" in groups:
        raise click.UsageError("stdin cannot hold both the group ids and the note")
    wanted = ask.groups_only(session, "groups", groups, ())
    written = read_all(session.env.stdin, "the note", session.output.note, how="end with Ctrl-D").strip() if text == "-" else text
    return _edit(session, wanted, lambda _group: {"note": written or None})


def _edit(session: Session, wanted: Sequence[str], changes: actions.Changes) -> int:
    work = ask.job(session)
    actions.must_edit(work)
    return ask.print_array(session, wanted, lambda group, layout: actions.edited(work, group, changes, layout=layout))


def _confirmed(session: Session, wanted: Sequence[str]) -> bool:
    if not session.interactive:
        raise click.UsageError("nobody can be asked here: --yes deletes without asking")
    work = ask.job(session)
    for group in wanted:
        count = actions.count_jobs(work, group)
        session.output.note(f"{group}: " + ("an unknown number of jobs" if count is None else f"{count} job(s)"))
    return session.ask_line(f"Delete {len(wanted)} group(s) for good? [y/N] ").lower() in {"y", "yes"}
