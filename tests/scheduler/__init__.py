"""Tests of ``orchd.scheduler``."""
