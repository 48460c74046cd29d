"""Tests of ``orchd.server``."""
