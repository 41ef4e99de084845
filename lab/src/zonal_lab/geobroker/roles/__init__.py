"""The processes that carry the clients."""
