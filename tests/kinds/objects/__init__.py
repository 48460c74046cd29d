"""Tests of ``orchd.kinds.objects``."""
