"""The one table from what went wrong to the sentence a person reads and the exit code a script gets."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import click

from benchloop_client import errors
from benchloop_client.cli import problems
from benchloop_client.cli.lazy import lazy
from benchloop_client.cli.output import Level
from benchloop_client.cli.session import Session

if TYPE_CHECKING:
    import traceback

    from benchloop_client.actions.report import Report
else:
    traceback = lazy("traceback")


class Exit(IntEnum):
    """The documented exit codes; there are no others."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    AUTH = 3
    NETWORK = 4
    INTERRUPTED = 130


#: First match wins: exception, exit code, what to do about it.
TABLE: tuple[tuple[type[BaseException], Exit, str], ...] = (
    (errors.UsageError, Exit.USAGE, ""),
    (errors.AuthError, Exit.AUTH, ""),
    (errors.DeadlinePassed, Exit.NETWORK, "run the same command again to go on"),
    (errors.NetworkError, Exit.NETWORK, ""),
    (errors.Cancelled, Exit.INTERRUPTED, "run the same command again to go on"),
    (KeyboardInterrupt, Exit.INTERRUPTED, "run the same command again to go on"),
    (click.Abort, Exit.INTERRUPTED, "run the same command again to go on"),
    (errors.DiskFull, Exit.FAILED, "make room and run the same command again"),
    (errors.BenchloopError, Exit.FAILED, ""),
)


def settle(error: BaseException, session: Session) -> int:
    """Say what went wrong, once, and return the exit code."""
    output = session.output
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        output.discard_stdout()
        return Exit.DONE
    if isinstance(error, click.ClickException):
        return _usage(error, session)
    for kind, code, hint in TABLE:
        if isinstance(error, kind):
            text = str(error) or "interrupted"
            details = getattr(error, "details", ())
            output.error(f"{text}; {hint}" if hint else text, problems.of_error(error, text, details=details))
            for detail in details:
                output.error_head(f"  - {detail}")
            return code
    return _unexpected(error, session)


def of_report(report: Report, session: Session) -> int:
    """List the failures of a run and return its exit code: 4 when nothing but unreachable servers was met, else 1."""
    output = session.output
    if report.ok:
        return Exit.DONE
    output.error_head(f"{len(report.failures)} {report.what} failed:")
    for failure in report.failures:
        output.error(f"  - {failure.label}: {failure.text}", problems.of_error(failure.error, failure.text, item=failure.label))
    if report.refused:
        return Exit.AUTH
    return Exit.NETWORK if report.unreachable else Exit.FAILED


def _usage(error: click.ClickException, session: Session) -> int:
    if isinstance(error, click.UsageError) and error.ctx is not None and not session.output.records:
        session.output.plain(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} -h' for help.\n")
    message = error.format_message()
    session.output.error(message, problems.of_error(error, message))
    return Exit.USAGE


def _unexpected(error: BaseException, session: Session) -> int:
    if isinstance(error, OSError):
        text = f"{error.strerror or type(error).__name__}: {error.filename}" if error.filename else str(error)
    else:
        text = errors.one_line(f"unexpected {type(error).__name__}: {error} (-v shows the traceback)")
    session.output.error(text, problems.of_error(error, text))
    if session.output.level is Level.VERBOSE:
        session.output.plain("".join(traceback.format_exception(error)))
    return Exit.FAILED
