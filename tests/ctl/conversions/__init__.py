"""Tests of ``orchd.ctl.conversions``."""
