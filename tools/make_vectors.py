"""Write the test vectors of the wire format anew: `python tools/make_vectors.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from wire_vectors import FILE, vectors


def main() -> None:
    """Replace the file."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
