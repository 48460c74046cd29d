"""Tests of ``orchd.server.pipeline.reviews``."""
