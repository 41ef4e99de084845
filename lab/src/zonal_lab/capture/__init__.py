"""The experiment `capture`: bytes per message on the wire, read off the card by a raw socket.

- `plan`, `trial`: ways of sending, between two hosts; `role`: the process in each of them;
  `raw_socket`: what a card carries.
- `page`: the table of bytes.
"""

from zonal_lab.capture.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
