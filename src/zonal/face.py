"""Faces of packages that load a module with the first of its names that somebody uses.

A program that needs little of a package does not load all of it: a `--help`, a worker of Spark's, a
process in a node of an emulated network. In the package's `__init__`:

```python
if TYPE_CHECKING:
    from zonal.geo.circle import Circle
else:
    __getattr__ = loaded_late(__name__)
```
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.abc import InspectLoader


def loaded_late(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: what it imports for type checkers alone.

    Its modules are its attributes, too, as if they had been imported.
    """

    def load(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = _homes(package).get(name)
        if home is not None:
            value = getattr(import_module(home), name)
            setattr(sys.modules[package], name, value)
            return value
        if find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load


@cache
def _homes(package: str) -> dict[str, str]:
    """The names that the package's own code would import, and the modules that they are from.

    Read from its byte code, which is there in programs that were packed without their sources.
    """
    spec = sys.modules[package].__spec__
    code = None if spec is None else cast("InspectLoader", spec.loader).get_code(package)
    homes: dict[str, str] = {}
    home = ""
    for each in () if code is None else dis.get_instructions(code):
        if each.opname == "IMPORT_NAME":
            home = each.argval
        elif each.opname == "IMPORT_FROM":
            homes[each.argval] = home
    return homes
