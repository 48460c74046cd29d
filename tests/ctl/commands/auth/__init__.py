"""Tests of ``orchd.ctl.commands.auth``."""
