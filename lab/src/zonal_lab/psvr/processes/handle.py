"""A node's process as the fleet sees it: orders to it, events from it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from zonal.errors import MeshError
from zonal.mesh import LineReader
from zonal.runtime import ChildProcess

if TYPE_CHECKING:
    from zonal_lab.emulation import Namespace
    from zonal_lab.psvr.processes.node import NodeSpec


class NodeProcess:
    """Starts the process, in a namespace if it is given one."""

    def __init__(self, spec: NodeSpec, space: Namespace | None) -> None:
        self.node = spec.node
        command = [sys.executable, "-m", "zonal_lab.psvr.processes.node", spec.to_json()]
        self._process = ChildProcess(space.command(*command) if space else command, stdin=True)
        self._lines = LineReader(self._process.stdout.fileno())

    def fileno(self) -> int:
        """For `select`."""
        return self._lines.fileno()

    def order(self, *words: Any) -> None:
        """Have the node do something; `MeshError` where the process has ended."""
        try:
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise MeshError(f"node {self.node} is not running") from error

    def events(self) -> list[list[Any]]:
        """What the node has told since; `MeshError` where the process has ended."""
        lines = self._lines.read()
        if not self._lines.open:
            raise MeshError(f"node {self.node} ended by itself")
        return [json.loads(line) for line in lines]

    def end(self) -> None:
        """End the process, hard."""
        self._process.end(grace_s=0)
