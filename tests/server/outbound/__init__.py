"""Tests of ``orchd.server.outbound``."""
