"""Zenoh against MQTT: echoes through emulated hosts, after chapter 5 of the Spanish thesis."""
