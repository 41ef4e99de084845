"""Emulated networks, workloads, experiments and their figures."""
