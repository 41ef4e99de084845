"""Random sequences of operations: every structure answers as a naive model does."""

from __future__ import annotations

from index_model import SameAnswers
from property_examples import examples
from zonal.index import Raster


class OwnStructures(SameAnswers):
    structures = (Raster, lambda: Raster(25), lambda: Raster(1))


TestOwnStructures = OwnStructures.TestCase
TestOwnStructures.settings = examples(60, stateful_step_count=40)
