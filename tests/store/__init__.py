"""Tests of ``orchd.store``."""
