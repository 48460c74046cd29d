"""Tests of ``orchd.ctl.printing``."""
