"""Points, areas, cells and grids: pure functions, no I/O."""
