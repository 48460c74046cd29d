"""Tests of ``orchd.testing.processes``."""
