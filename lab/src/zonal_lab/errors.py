"""The errors that the laboratory raises; each is a `ZonalError` too.

```
ZonalError
└── LabError                          the laboratory's own
    ├── TopologyError (ValueError)    an emulated network that cannot be built as described
    ├── TraceError (ValueError)       a packet-delivery trace that cannot be found or read
    ├── PlanError (ValueError)        an experiment plan that cannot be carried out
    └── EmulationError (RuntimeError) the machine cannot emulate, or a part of an emulation failed
```
"""

from __future__ import annotations

from zonal.errors import ZonalError


class LabError(ZonalError):
    """What goes wrong in an emulation or an experiment."""


class TopologyError(LabError, ValueError):
    """A topology file, or a network in it, that cannot be built as it is described."""


class TraceError(LabError, ValueError):
    """A packet-delivery trace that cannot be found or read."""


class PlanError(LabError, ValueError):
    """A plan of experiments that cannot be carried out, or results that cannot be read."""


class EmulationError(LabError, RuntimeError):
    """The machine lacks something that an emulation needs, or a part of an emulation failed."""
