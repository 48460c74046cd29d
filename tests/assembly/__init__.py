"""Tests of ``orchd.assembly``."""
