"""The newest value of each thing, by key and place: kept through `kill -9`, answered to `get`.

`Store` hears messages and answers questions, a `Table` keeps things (`sqlite_table`,
`postgres_table`), a `ThingFilter` says what is asked for, `nearest` finds the nearest, `others` are
the stores beside it.
"""

from zonal.store.nearest import Nearness
from zonal.store.opening import open_table
from zonal.store.store import Store, StoreCounters
from zonal.store.table import Table
from zonal.store.thing import By, StoredThing
from zonal.store.thing_filter import ThingFilter

__all__ = [
    "By",
    "Nearness",
    "Store",
    "StoreCounters",
    "StoredThing",
    "Table",
    "ThingFilter",
    "open_table",
]
