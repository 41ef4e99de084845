"""Reliability and congestion control: five megabytes at once, after section 5.3 of the thesis."""
