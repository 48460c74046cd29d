"""Tests of ``orchd.kinds``."""
