"""Tests of ``orchd.scheduler.config``."""
