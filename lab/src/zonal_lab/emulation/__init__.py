"""Networks emulated on one machine, and processes in their nodes.

- `topology`, `layouts`: networks as data; `network` builds one from `namespaces`, bridges, token
  buckets and, where the kernel cannot, the `relay` process with its `port`s and `lane`s.
- `trace`, `wireless`: packet traces, recorded or made up.
- `worker`, `role`: a process that takes orders, seen from the lab and from inside the node;
  `waiting`: for what happens there.
- `cpu`: shares of a core; `link_measure` with its `probe` process: what a link really gives.
- `machine`: what this machine can emulate; `runs`, `signals`: nothing is left behind.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.emulation.lane import NS_PER_MS, TraceGate
    from zonal_lab.emulation.link_measure import LinkMeasure, measure_link
    from zonal_lab.emulation.machine import Machine, examine_machine
    from zonal_lab.emulation.namespaces import Namespace, enter
    from zonal_lab.emulation.network import CARD, EmulatedNetwork
    from zonal_lab.emulation.role import Answer, EndRole, Role, cpu_seconds, read_counters, serve
    from zonal_lab.emulation.runs import remove_leftovers
    from zonal_lab.emulation.signals import ending_in_order
    from zonal_lab.emulation.topology import (
        Card,
        Node,
        Topology,
        hosts_in_a_row,
        layout,
        load_topology,
    )
    from zonal_lab.emulation.trace import (
        Trace,
        describe_trace,
        made_up_lte,
        read_trace,
        trace_file,
        write_trace,
    )
    from zonal_lab.emulation.waiting import wait_until
    from zonal_lab.emulation.wireless import made_up_wifi
    from zonal_lab.emulation.worker import Worker
else:
    __getattr__ = loaded_late(__name__)

__all__ = [
    "CARD",
    "NS_PER_MS",
    "Answer",
    "Card",
    "EmulatedNetwork",
    "EndRole",
    "LinkMeasure",
    "Machine",
    "Namespace",
    "Node",
    "Role",
    "Topology",
    "Trace",
    "TraceGate",
    "Worker",
    "cpu_seconds",
    "describe_trace",
    "ending_in_order",
    "enter",
    "examine_machine",
    "hosts_in_a_row",
    "layout",
    "load_topology",
    "made_up_lte",
    "made_up_wifi",
    "measure_link",
    "read_counters",
    "read_trace",
    "remove_leftovers",
    "serve",
    "trace_file",
    "wait_until",
    "write_trace",
]
