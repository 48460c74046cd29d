"""Tests of ``orchd.testing.forking``."""
