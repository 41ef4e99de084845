"""The experiment `capture`: bytes per message on the wire, read off the card by a raw socket.

- `plan`, `trial`: ways of sending, between two hosts; `role`: the process in each of them;
  `raw_socket`: what a card carries.
- `page`: the table of bytes.
"""

from typing import TYPE_CHECKING

from zonal.face import loaded_late

if TYPE_CHECKING:
    from zonal_lab.capture.experiment import EXPERIMENT
else:
    __getattr__ = loaded_late(__name__)

__all__ = ["EXPERIMENT"]
