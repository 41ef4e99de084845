"""What payloads hold, as the user declares it: fields per topic, with types, needs and limits.

```toml
[topics."city/airquality/**"]
device = "station"                 # the field that names the device; the source id without it
[topics."city/airquality/**".fields]
station = "string"
pm10 = { type = "double", required = true, min = 0, max = 2000 }
```
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zenoh

from zonal.errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELD_TYPES = ("string", "double", "bigint", "int", "boolean", "timestamp")
NUMERIC_TYPES = ("double", "bigint", "int")
# A field that grows keeps its old rows readable; any other change of type would not.
WIDENINGS = {("int", "bigint"), ("int", "double"), ("bigint", "double")}


@dataclass(frozen=True)
class Field:
    """One member of a payload."""

    name: str
    type: str
    required: bool = False
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name):
            raise DeclarationError(f"field {self.name!r}: a name has letters, digits and _")
        if self.type not in FIELD_TYPES:
            raise DeclarationError(
                f"field {self.name}: type {self.type!r} is not one of {', '.join(FIELD_TYPES)}"
            )
        if (self.min is not None or self.max is not None) and self.type not in NUMERIC_TYPES:
            raise DeclarationError(f"field {self.name}: only numbers have min and max")


@dataclass(frozen=True)
class TopicSchema:
    """The payload of the topics that match a key expression."""

    topic: str
    fields: tuple[Field, ...]
    device: str | None = None

    def __post_init__(self) -> None:
        try:
            zenoh.KeyExpr(self.topic)
        except zenoh.ZError as error:
            raise DeclarationError(f"topic {self.topic!r} is no key expression: {error}") from error
        if self.device and self.device not in {field.name for field in self.fields}:
            raise DeclarationError(f"topic {self.topic}: device {self.device!r} is no field of it")

    @property
    def ddl(self) -> str:
        """The fields as Spark writes them in SQL."""
        return ", ".join(f"`{field.name}` {field.type}" for field in self.fields)

    @property
    def pattern(self) -> str:
        """A regular expression that matches exactly the topics of the key expression."""
        return key_pattern(self.topic)


@dataclass(frozen=True)
class PayloadDeclaration:
    """All declared topics; the first that matches a message decides."""

    topics: tuple[TopicSchema, ...] = ()

    def __post_init__(self) -> None:
        types: dict[str, str] = {}
        for topic in self.topics:
            for field in topic.fields:
                if types.setdefault(field.name, field.type) != field.type:
                    raise DeclarationError(
                        f"field {field.name} is {types[field.name]} in one topic and {field.type} "
                        f"in {topic.topic}: the silver table has one column for it"
                    )

    @property
    def fields(self) -> dict[str, str]:
        """Every field with its type: the columns that silver adds."""
        return {field.name: field.type for topic in self.topics for field in topic.fields}

    @property
    def measures(self) -> tuple[str, ...]:
        """The fields that can be averaged."""
        return tuple(name for name, kind in self.fields.items() if kind in NUMERIC_TYPES)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> PayloadDeclaration:
        """Read what a TOML file holds."""
        topics = content.get("topics")
        if not isinstance(topics, dict) or not topics:
            raise DeclarationError('a declaration has [topics."<key expression>".fields]')
        return cls(tuple(_topic(name, value) for name, value in topics.items()))

    @classmethod
    def from_file(cls, path: str | Path) -> PayloadDeclaration:
        """Read a TOML file."""
        try:
            return cls.from_mapping(tomllib.loads(Path(path).read_text()))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise DeclarationError(f"{path} cannot be read as TOML: {error}") from error


def key_pattern(expression: str) -> str:
    """A key expression as a regular expression over topics: `a/**/b` also matches `a/b`."""
    pattern = ""
    for index, chunk in enumerate(expression.split("/")):
        if chunk == "**":
            pattern += "(?:/[^/]+)*" if index else "(?:[^/]+(?:/[^/]+)*)?"
            continue
        literal = "[^/]*".join(re.escape(part) for part in chunk.split("$*"))
        pattern += ("/" if index else "") + ("[^/]+" if chunk == "*" else literal)
    if expression.startswith("**/"):  # the slash after a leading ** goes with it
        rest = key_pattern(expression[3:])[1:-1]
        pattern = f"(?:[^/]+/)*{rest}"
    return f"^{pattern}$"


def _topic(name: str, content: Any) -> TopicSchema:
    if not isinstance(content, dict) or not isinstance(content.get("fields"), dict):
        raise DeclarationError(f"topic {name} has no table of fields")
    return TopicSchema(
        name,
        tuple(_field(field, value) for field, value in content["fields"].items()),
        content.get("device"),
    )


def _field(name: str, content: Any) -> Field:
    if isinstance(content, str):
        return Field(name, content)
    if not isinstance(content, dict) or set(content) - {"type", "required", "min", "max"}:
        raise DeclarationError(f"field {name}: give a type, or type, required, min and max")
    if "type" not in content:
        raise DeclarationError(f"field {name} has no type")
    return Field(name, **content)
