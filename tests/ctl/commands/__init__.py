"""Tests of ``orchd.ctl.commands``."""
