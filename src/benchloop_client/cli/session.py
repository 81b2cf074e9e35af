"""One run of `bl`: what was typed globally, and the settings, client and output that follow from it, each made when first asked for."""

from __future__ import annotations

import dataclasses
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import click

from benchloop_client.cli import stdin
from benchloop_client.cli.env import Env
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.output import Level, Output

if TYPE_CHECKING:
    from benchloop_client import client, settings
    from benchloop_client.actions import layout
    from benchloop_client.cli import formats, progress, update_notice
else:
    formats = lazy("benchloop_client.cli.formats")
    settings = lazy("benchloop_client.settings")
    layout = lazy("benchloop_client.actions.layout")
    progress = lazy("benchloop_client.cli.progress")

#: What `--format` takes; the first is the default.
FORMATS = ("json", "jsonl", "csv", "table")
#: What `--format` takes besides where lines for a person are the default.
TEXT = "text"

KEY_IN_SIGHT = (
    "a key on the command line shows in process lists and in the shell's history: "
    "--api-key-stdin or `bl config set --api-key-prompt` keep it out of sight"
)


class Session:
    """Lives as long as one command line."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.given: dict[str, Any] = {}
        #: Set by Ctrl-C; every request and every pool ends soon after.
        self.cancel = threading.Event()
        self._output = Output(env.stdout, env.stderr)
        self._ticker: progress.Ticker | None = None
        self._update: update_notice.UpdateNotice | None = None
        self._key_stream: tuple[TextIO | None] | None = None

    @property
    def output(self) -> Output:
        """The two streams, as quiet or talkative as was asked for."""
        if self.given.get("quiet"):
            self._output.level = Level.QUIET
        elif self.given.get("verbose"):
            self._output.level = Level.VERBOSE
        self._output.records = self.given.get("errors") == "json"
        return self._output

    @cached_property
    def flags(self) -> settings.Flags:
        """What was typed globally, the key from stdin included. Raises `click.UsageError` when there is none, or two keys."""
        names = {field.name for field in dataclasses.fields(settings.Flags)}
        given = {name: value for name, value in self.given.items() if name in names}
        if self._key_stream is not None:
            if given.get("api_key"):
                raise click.UsageError("--api-key and --api-key-stdin are mutually exclusive")
            given["api_key"] = stdin.read_key(self._key_stream[0], self.output.note)
        elif given.get("api_key") and self.output.terminal:
            self.output.warning(KEY_IN_SIGHT)
        return settings.Flags(**given)

    @cached_property
    def settings(self) -> settings.Settings:
        """Flags, environment and file. Raises `UsageError` for what cannot be used."""
        loaded = self.env.load_settings(self.flags)
        self._output.redact = loaded.redact
        for hint in loaded.hints:
            self.output.warning(hint)
        return loaded

    @property
    def has_key_on_stdin(self) -> bool:
        """Whether the key was said to come from stdin."""
        return self._key_stream is not None

    def take_key_from_stdin(self) -> None:
        """From now on stdin holds the key, which is read when it is needed, and nothing else."""
        if self._key_stream is None:
            self._key_stream = (self.env.stdin,)
            self.env = dataclasses.replace(self.env, stdin=stdin.Spent())

    @property
    def on_terminal(self) -> bool:
        """Whether stdout is a person's terminal."""
        return self.env.stdout is not None and self.env.stdout.isatty()

    @property
    def colour(self) -> bool:
        """Whether text on stdout has colours."""
        return settings.wants_colour(self.on_terminal)

    @property
    def interactive(self) -> bool:
        """Whether somebody can be asked."""
        return all(stream is not None and not stream.closed and stream.isatty() for stream in (self.env.stdin, self.env.stderr))

    def ask_line(self, question: str) -> str:
        """One line from the person at the terminal. Raises `click.UsageError` where there is none, `click.Abort` when they end it."""
        self._must_be_interactive()
        self.output.ask(question)
        line = self.env.stdin.readline() if self.env.stdin is not None else ""
        if not line:
            raise click.Abort
        return line.strip()

    def ask_hidden(self, question: str) -> str:
        """As `ask_line`, without showing what is typed."""
        self._must_be_interactive()
        try:
            return self.env.ask_hidden(question).strip()
        except EOFError:
            raise click.Abort from None

    def _must_be_interactive(self) -> None:
        if not self.interactive:
            raise click.UsageError("nobody can be asked: stdin and stderr are not a terminal")

    @cached_property
    def client(self) -> client.Client:
        """The one client of this run, with its pool of connections."""
        opened = self.env.open_client(self.settings, self.cancel)
        if self.output.level is Level.VERBOSE:
            opened.tell(self.output.debug)
        self._look_for_update()
        return opened

    @cached_property
    def watch(self) -> progress.Progress:
        """Shows what actions report."""
        self._output.can_redraw = settings.can_redraw()
        watch = progress.Progress(self.output, self.env.clock, moved=self.client.moved_bytes, single=self.settings.concurrency == 1)
        if self.env.ticks:
            self._ticker = progress.Ticker(watch)
        return watch

    def end_progress(self) -> None:
        """Take the progress line down, if there is one."""
        if "watch" in self.__dict__:
            self.watch.close()

    @property
    def style(self) -> formats.Style:
        """How records are printed. Raises `click.UsageError` for fields of JSON, which is the documented array as it is."""
        name = self.given.get("format") or FORMATS[0]
        fields = tuple(dict.fromkeys(field.strip() for field in (self.given.get("fields") or "").split(",") if field.strip()))
        if fields and name in {TEXT, FORMATS[0]}:
            raise click.UsageError("--fields needs --format jsonl, csv or table")
        return formats.Style(name, fields)

    @property
    def layout(self) -> layout.Layout:
        """How JSON is written."""
        pretty = self.given.get("pretty")
        return layout.Layout(pretty=True if pretty is None else pretty)

    def close(self) -> None:
        """Take down the progress line, say if a newer version is out, and give the connections back."""
        if self._ticker is not None:
            self._ticker.stop()
        self.end_progress()
        if self._update is not None and not self.cancel.is_set():
            for line in self._update.lines():
                self.output.note(line)
        if "client" in self.__dict__:
            self.client.close()

    def _look_for_update(self) -> None:
        if self.env.open_update is not None and self.settings.update_check and self.output.level > Level.QUIET:
            self._update = self.env.open_update(self.settings)
            self._update.begin()
