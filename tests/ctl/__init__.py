"""Tests of ``orchd.ctl``."""
