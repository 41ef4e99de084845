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

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def loaded_late(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: what its source imports for type checkers alone.

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
    """The names under `if TYPE_CHECKING:`, and the modules that they are from."""
    source = ast.parse(inspect.getsource(sys.modules[package]))
    return {
        alias.name: statement.module
        for block in source.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module is not None
        for alias in statement.names
    }
