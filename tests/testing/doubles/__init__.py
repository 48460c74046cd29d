"""Tests of ``orchd.testing.doubles``."""
