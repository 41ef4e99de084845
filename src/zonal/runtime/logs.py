"""One log for a process: lines of text or JSON objects, without passwords and exact places."""

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
_DEGREES = r"(?<![\d.])(-?\d{1,3}(?:\.\d+)?)(?!\d|\.\d)"
_PLACE = re.compile(rf"{_DEGREES}(,? ?){_DEGREES}")
"""Two numbers beside each other, as degrees of a place are written."""
_NAMED = re.compile(r"""(\bl(?:at|on)[a-z]*["']?\s*[=:]\s*)(-?\d{1,3}\.\d+)""")
_PLACE_KEY = re.compile(r"(/@\w+/)[^\s'\",;:)]+")
"""What a key says of a place: all that follows the name of an encoding."""
_A_SECOND, _AT_ONCE = 20.0, 200.0
"""Lines of a sparing log a second, and at once."""
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


def discreet(text: str) -> str:
    """The text without passwords in addresses; places only to about a kilometre, in keys not."""
    text = _PLACE_KEY.sub(r"\1…", without_passwords(text))
    text = _NAMED.sub(lambda found: f"{found[1]}{_rounded(found[2])}", text)
    return _PLACE.sub(lambda found: f"{_rounded(found[1])}{found[2]}{_rounded(found[3])}", text)


def _rounded(degrees: str) -> str:
    return f"{float(degrees):.2f}" if len(degrees.partition(".")[2]) > 2 else degrees


def without_passwords(text: str) -> str:
    """The text with passwords in addresses, as in `mqtt://anna:secret@host`, made unreadable."""
    return _CREDENTIALS.sub(r"\1:***", text)


class SparingLog:
    """A logger for what strangers can cause: of a flood, a bounded number of lines a second.

    How many were not written is said with the next one that is.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._left = _AT_ONCE
        self._at = 0.0
        self._kept_back = 0

    def write(self, level: int, text: str, values: Mapping[str, object], now: float) -> None:
        """Log a text with named values, at a time in seconds; or count it."""
        if not self._logger.isEnabledFor(level):
            return
        self._left = min(_AT_ONCE, self._left + max(0.0, now - self._at) * _A_SECOND)
        self._at = now
        if self._left < 1:
            self._kept_back += 1
            return
        self._left -= 1
        if self._kept_back:
            told = {"event": "kept back", "lines": self._kept_back}
            self._logger.warning("%(lines)d lines like the next were not written", told)
            self._kept_back = 0
        self._logger.log(level, text, values)


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
        return discreet(super().format(record))


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
            told |= {name: value for name, value in record.args.items() if name not in told}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return discreet(json.dumps(told, ensure_ascii=False, default=str))
