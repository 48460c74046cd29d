"""Tests of ``orchd.config``."""
