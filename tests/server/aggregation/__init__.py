"""Tests of ``orchd.server.aggregation``."""
