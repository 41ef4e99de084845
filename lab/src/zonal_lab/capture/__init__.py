"""Bytes per message on the wire, read off the card by a raw socket."""
