"""Where log lines go: warnings and failures to standard error, one line a request to a file of bounded size or to standard error.

Requests do not go to standard error by default: a pipe that nobody reads would fill and stop the server.
"""

from __future__ import annotations

import asyncio
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import structlog

LEVELS = ("debug", "info", "warning", "error")
_OURS, _ACCESS, _WORK = "benchloop_server", "benchloop_server.access", "benchloop_server.work"
_FILE_BYTES, _FILES = 16 * 1024 * 1024, 4


def configure(level: str, *, access: Path | str, work: Path | None = None) -> None:
    """`level` for standard error, one of `LEVELS`; of libraries, warnings at most. `access`: a file, `-` for standard error, or `off`.
    `work`: a file for what a worker did, of which only warnings go to standard error then.
    """
    logging.raiseExceptions = False
    _attach(logging.getLogger(), logging.StreamHandler(), "ERROR" if level == "error" else "WARNING")
    logging.getLogger(_OURS).setLevel(level.upper())
    logging.getLogger("uvicorn.error").addFilter(_NotOurShutdown())
    requests = logging.getLogger(_ACCESS)
    requests.propagate = False
    _attach(requests, _access_handler(access), "INFO")
    if work is not None:
        _attach(logging.getLogger(_WORK), _access_handler(work), "INFO")
        _only_warnings_to_standard_error()
    processors: list[Any] = [
        structlog.stdlib.filter_by_level,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
    structlog.configure(processors=processors, logger_factory=structlog.stdlib.LoggerFactory(), cache_logger_on_first_use=True)


class _NotOurShutdown(logging.Filter):
    """Requests that the shutdown cut off are no failures: uvicorn would give each a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record?"""
        cut_off = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
        return not cut_off and "timeout graceful shutdown exceeded" not in record.msg


class _Rotating(RotatingFileHandler):
    """As its base, which looks the file up twice for every line."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - the name of the base class
        """Whether the line does not fit in the file any more."""
        if self.stream is None:
            self.stream = self._open()
        return self.stream.tell() > 0 and self.stream.tell() + len(self.format(record)) + 1 >= self.maxBytes


def _only_warnings_to_standard_error() -> None:
    for handler in logging.getLogger().handlers:
        handler.setLevel(max(logging.getLogger().level, logging.WARNING))


def _access_handler(access: Path | str) -> logging.Handler:
    if access == "off":
        return logging.NullHandler()
    if access == "-":
        return logging.StreamHandler()
    path = Path(access)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _Rotating(path, maxBytes=_FILE_BYTES, backupCount=_FILES, encoding="utf-8", delay=True)


def _attach(logger: logging.Logger, handler: logging.Handler, level: str) -> None:
    for old in list(logger.handlers):
        logger.removeHandler(old)
    logger.setLevel(level)
    logger.addHandler(handler)
