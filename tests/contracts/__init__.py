"""One suite per interface, run on each implementation."""
