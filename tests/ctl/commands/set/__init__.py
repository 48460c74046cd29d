"""Tests of ``orchd.ctl.commands.set``."""
