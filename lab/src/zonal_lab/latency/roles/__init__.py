"""The processes that stand in the hosts of an echo experiment."""
