"""Tests of ``orchd.cache``."""
