"""Emulated networks on one machine: namespaces, shaped links, packet traces, roles in nodes."""
