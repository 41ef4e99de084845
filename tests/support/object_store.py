"""An object store on loopback: moto's S3 server, with its buckets in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVER = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"


@contextmanager
def object_store() -> Iterator[str]:
    """The address of a server, as long as it is used."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "Running on http" in line)
            # Its log must be read, or it would stop when the pipe is full.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield line.split("Running on ")[1].split()[0]
        finally:
            process.kill()


def new_bucket(endpoint: str) -> tuple[str, dict[str, str]]:
    """A new bucket, and the usual variables by which it is found."""
    name = f"zonal-{os.urandom(4).hex()}"
    request = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    return f"s3://{name}", {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "anyone",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
