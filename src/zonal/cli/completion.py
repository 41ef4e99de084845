"""`zonal completion`: what a shell needs to complete our commands and options."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

_NAME = "zonal"
_VARIABLE = "_ZONAL_COMPLETE"
"""By which a shell asks for completions."""


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(help="One of bash, zsh and fish.")
    ],
) -> None:
    """Print the completion script of a shell, to be read by it when it starts."""
    typer.echo(get_completion_script(prog_name=_NAME, complete_var=_VARIABLE, shell=shell))


def prepare_completion() -> None:
    """Teach typer to answer the shells, if one asks now."""
    if _VARIABLE in os.environ:
        completion_init()
