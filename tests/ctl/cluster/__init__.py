"""Tests of ``orchd.ctl.cluster``."""
