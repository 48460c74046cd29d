"""Objects that a command means, reads from files or changes on the server."""
