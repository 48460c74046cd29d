"""Tests of ``orchd.ctl.commands.create``."""
