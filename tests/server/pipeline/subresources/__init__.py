"""Tests of ``orchd.server.pipeline.subresources``."""
