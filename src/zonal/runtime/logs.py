"""One log for a process: lines of text or JSON objects, without passwords."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from zonal.errors import ConfigurationError

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
_TEXT = "%(asctime)s %(levelname)s %(message)s"
_CREDENTIALS = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*(?=@)")


def configure_logging(level: str = "info", format: str = "text") -> None:  # noqa: A002
    """Write the log to standard error: ours from `level` on, that of libraries from warnings on.

    A call `logger.info("%(user)s came", {"user": …})` is a line of text, or in JSON an object with
    `time`, `level`, `logger`, `message` and each of the named values.
    """
    if level not in LOG_LEVELS:
        raise ConfigurationError(f"{level!r} is no log level; there are {', '.join(LOG_LEVELS)}")
    if format not in LOG_FORMATS:
        raise ConfigurationError(f"{format!r} is no log format; there are {', '.join(LOG_FORMATS)}")
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, _StandardError):
            root.removeHandler(handler)
    ours = _StandardError()
    ours.setFormatter(JsonLines() if format == "json" else TextLines(_TEXT))
    root.addHandler(ours)
    logging.getLogger("zonal").setLevel(level.upper())


def without_passwords(text: str) -> str:
    """The text with passwords in addresses, as in `mqtt://anna:secret@host`, made unreadable."""
    return _CREDENTIALS.sub(r"\1:***", text)


class _StandardError(logging.Handler):
    """Writes to what is standard error at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - as all handlers do
            self.handleError(record)


class TextLines(logging.Formatter):
    """A line for each record, and what led to an error below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return without_passwords(super().format(record))


class JsonLines(logging.Formatter):
    """A JSON object a line; values with names are members of it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if isinstance(record.args, Mapping):
            told = {**record.args, **told}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return without_passwords(json.dumps(told, ensure_ascii=False, default=str))
