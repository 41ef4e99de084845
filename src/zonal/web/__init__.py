"""REST, server-sent events and the map."""
