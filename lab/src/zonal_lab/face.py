"""Faces of packages that load a module with the first of its names that somebody uses.

A process in a node of an emulated network needs a few modules of its experiment, not its pages and
pictures; starting it would be loading them, mostly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def loaded_late(package: str, **homes: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: each name of its face, and the module it is from."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
