"""The MQTT 5 geo broker: protocol state without sockets, then a server."""
