"""Plans for `zonal lab run all`: the options of every experiment, as committed files.

`long` is what a machine of its own should run (a day and a half); `short` runs unattended in three
to four hours and has at least five rounds of everything, so that every claim gets an interval;
`tiny` shows in some minutes whether a machine can run it all.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from zonal_lab.errors import PlanError


def plan_options(name: str) -> dict[str, dict[str, Any]]:
    """The options of each experiment in a plan; a `PlanError` when there is no such plan."""
    folder = resources.files("zonal_lab.plans")
    file = folder / f"{name}.toml"
    if not file.is_file():
        known = sorted(each.name[:-5] for each in folder.iterdir() if each.name.endswith(".toml"))
        raise PlanError(f"there is no plan {name!r}; there are {', '.join(known)}")
    return tomllib.loads(file.read_text(encoding="utf-8"))


__all__ = ["plan_options"]
