"""Tests of ``orchd.kinds.codec``."""
