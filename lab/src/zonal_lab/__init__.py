"""The proof of Zonal: emulated networks, and the experiments that run on them."""

__version__ = "0.1.0"
