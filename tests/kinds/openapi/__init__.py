"""Tests of ``orchd.kinds.openapi``."""
