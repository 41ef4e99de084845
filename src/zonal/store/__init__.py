"""The newest value of each thing, by key and place: kept through `kill -9`, answered to `get`."""

__all__: list[str] = []
