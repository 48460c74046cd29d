"""Tests of ``orchd.testing``."""
