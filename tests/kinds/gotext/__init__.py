"""Tests of ``orchd.kinds.gotext``."""
