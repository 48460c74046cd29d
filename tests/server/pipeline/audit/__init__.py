"""Tests of ``orchd.server.pipeline.audit``."""
