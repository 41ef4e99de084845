"""Reliability and congestion control: five megabytes at once, after Barón 2024, section 5.3."""
