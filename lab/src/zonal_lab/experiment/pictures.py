"""The one style of pictures: their size and paper, and bars in groups."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_pictures = ContextVar("pictures", default=True)
COLOURS = {
    "ours": "#d62728",
    "zenoh": "#1f77b4",
    "mqtt": "#7f7f7f",
    "broker": "#ff7f0e",
    "recovery": "#2ca02c",
}
"""A colour for each system, the same in all pictures."""


class _Nowhere:
    """A picture, its panels and all that is on them, where nothing is drawn."""

    def __getattr__(self, name: str) -> _Nowhere:
        return self

    def __call__(self, *_: object, **__: object) -> _Nowhere:
        return self

    def __getitem__(self, _: object) -> _Nowhere:
        return self

    def __iter__(self) -> Iterator[_Nowhere]:
        return iter(())


def new_figure(width: float, height: float) -> Figure:
    """An empty picture, in inches; within `without_pictures` all that is done to it is nothing."""
    if not _pictures.get():
        return cast("Figure", _Nowhere())
    from matplotlib.figure import Figure  # only pictures need it

    return Figure(figsize=(width, height), layout="constrained")


def panels(figure: Figure, rows: int, columns: int, **options: Any) -> list[Axes]:
    """The panels of a picture, row by row, without frames at the top and the right."""
    if isinstance(figure, _Nowhere):
        return [cast("Axes", figure)] * (rows * columns)
    found: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for axis in found:
        axis.spines[["top", "right"]].set_visible(False)
    return found


def grouped_bars(
    axis: Axes,
    series: Mapping[Any, Sequence[float]],
    labels: Sequence[str],
    colours: Mapping[str, str],
) -> list[Any]:
    """For each label a group of bars, one a series; the series' bars are given back."""
    import numpy as np

    width = 0.8 / max(len(series), 1)
    drawn = []
    for number, (name, values) in enumerate(series.items()):
        places = np.arange(len(values)) + (number - (len(series) - 1) / 2) * width
        drawn.append(axis.bar(places, values, width, color=colours[name], label=name))
    axis.set_xticks(range(len(labels)), labels)
    return drawn


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture."""
    if _pictures.get():
        figure.savefig(path, dpi=110)


@contextlib.contextmanager
def without_pictures() -> Iterator[None]:
    """Within this, pages are made without their pictures."""
    token = _pictures.set(False)
    try:
        yield
    finally:
        _pictures.reset(token)
