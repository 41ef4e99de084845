"""What runs inside the nodes: stock router, publisher, subscriber, each a process that obeys."""
