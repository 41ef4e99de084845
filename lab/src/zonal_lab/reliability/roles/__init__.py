"""The processes in the two nodes: sender and receiver."""
