"""The evaluation of PSVR: message gain, delivery, routes and recovery of the mesh."""
