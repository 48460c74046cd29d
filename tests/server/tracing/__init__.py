"""Tests of ``orchd.server.tracing``."""
