"""Tests of ``orchd.server.bootstrap``."""
