"""Tests of ``orchd.testing.cluster``."""
