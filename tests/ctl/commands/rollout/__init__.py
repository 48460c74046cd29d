"""Tests of ``orchd.ctl.commands.rollout``."""
