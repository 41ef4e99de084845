"""Self-stabilizing publish/subscribe without infrastructure (PSVR)."""
