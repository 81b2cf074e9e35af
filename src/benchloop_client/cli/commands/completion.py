"""`bl completion`: a script that completes commands, options and values in the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchloop_client.cli import ask, options
from benchloop_client.cli.exits import Exit
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    from benchloop_client.cli.shells import bash, fish, tree, zsh
else:
    bash, fish, tree, zsh = (lazy(f"benchloop_client.cli.shells.{name}") for name in ("bash", "fish", "tree", "zsh"))

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", cls=options.Leaf, example="source <(bl completion bash)")
@click.argument("shell", type=click.Choice(SHELLS))
@ask.with_session
def command(session: Session, *, shell: str) -> int:
    """A completion script for bash, zsh or fish.

    It is complete in itself: when a key is pressed no program is started and no server is asked. So ids are not completed; `bl groups list`
    has them.

    bash: `source <(bl completion bash)` in ~/.bashrc.

    zsh: `bl completion zsh > _bl` in a folder of $fpath, or `source <(bl completion zsh)` after compinit in ~/.zshrc.

    fish: `bl completion fish > ~/.config/fish/completions/bl.fish`.
    """
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    script = {"bash": bash, "zsh": zsh, "fish": fish}[shell].script(tree.of(root))
    with session.output.flushed():
        session.output.data(script.encode())
    return Exit.DONE
