"""The processes in the nodes besides routers: publisher and subscriber."""
