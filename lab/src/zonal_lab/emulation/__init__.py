"""Emulated networks on one machine: namespaces, shaped links, packet traces, roles in nodes."""

from zonal_lab.emulation.machine import examine_machine
from zonal_lab.emulation.namespaces import Namespace

__all__ = ["Namespace", "examine_machine"]
