"""Tests of ``orchd.kinds.crd``."""
