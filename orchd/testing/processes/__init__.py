"""Real processes for tests to start, stop and kill: the server, etcd, and their ports."""
