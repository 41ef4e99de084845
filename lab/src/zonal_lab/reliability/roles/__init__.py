"""The two peers of a burst."""
