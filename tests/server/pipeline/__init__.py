"""Tests of ``orchd.server.pipeline``."""
