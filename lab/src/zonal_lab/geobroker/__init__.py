"""GeoBroker's use case: clients that travel, tell their neighbours, and listen (section 5.3)."""
