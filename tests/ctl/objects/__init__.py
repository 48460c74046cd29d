"""Tests of ``orchd.ctl.objects``."""
