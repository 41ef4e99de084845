"""Zenoh against MQTT: echoes through emulated hosts, after Barón 2024, chapter 5."""
