"""`Cluster`: a real API server for one test in a process of its own; the flags, channel, faults and records of both
sides."""
