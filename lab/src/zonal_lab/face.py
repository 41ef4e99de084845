"""Faces of packages that load a module with the first of its names that somebody uses.

A process in a node of an emulated network needs a few modules of its experiment, not its pages and
pictures; starting it would be loading them, mostly.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def loaded_late(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: what its source imports for type checkers alone."""

    def load(name: str) -> object:
        home = None if name.startswith("__") else _homes(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

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
