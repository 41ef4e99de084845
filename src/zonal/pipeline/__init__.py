"""From live messages to history and back: what needs no Spark. What does stands in `jobs`.

A message's way, and the modules that it meets:

- network → log: `recorder` subscribes, `rows` makes columns of messages (`schema`, with `cells` and
  `shapes` for places), `log` appends them to a Delta table (`delta`) and knows by
  `recorded_numbers` what it has already.
- log → silver → gold → alert → network: `jobs`, by what users declare: `payloads`, `zones`,
  `tracks`; `window_statistics` are gold's figures. The tables stand in the `lake`, Delta tables
  too.
- log and lake → network: `history` answers a `selection` (with `times`), `service` makes a
  queryable of it.
- lake → other tools: `exporting` writes files, `query` is SQL on DuckDB.
- log and subscriptions → deliveries: `matching`, with `blocks` of neighbouring places.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal.pipeline.cells import cell_ids
    from zonal.pipeline.exporting import export
    from zonal.pipeline.history import History
    from zonal.pipeline.lake import Lake
    from zonal.pipeline.log import Log, LogWriter, Retention
    from zonal.pipeline.matching import MESSAGE_COLUMNS, SUBSCRIPTION_COLUMNS, match
    from zonal.pipeline.payloads import Field, PayloadDeclaration, TopicSchema
    from zonal.pipeline.query import LakeQuery
    from zonal.pipeline.recorder import Recorder, RecorderPlan
    from zonal.pipeline.schema import LOG_SCHEMA, MESSAGE_SCHEMA
    from zonal.pipeline.selection import Selection
    from zonal.pipeline.service import HistoryService
    from zonal.pipeline.shapes import area_from_columns, area_to_columns
    from zonal.pipeline.times import parse_time_range
    from zonal.pipeline.tracks import TrackPlan, distances_m
    from zonal.pipeline.zones import Zones
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "LOG_SCHEMA",
    "MESSAGE_COLUMNS",
    "MESSAGE_SCHEMA",
    "SUBSCRIPTION_COLUMNS",
    "Field",
    "History",
    "HistoryService",
    "Lake",
    "LakeQuery",
    "Log",
    "LogWriter",
    "PayloadDeclaration",
    "Recorder",
    "RecorderPlan",
    "Retention",
    "Selection",
    "TopicSchema",
    "TrackPlan",
    "Zones",
    "area_from_columns",
    "area_to_columns",
    "cell_ids",
    "distances_m",
    "export",
    "match",
    "parse_time_range",
]
