"""Tests of ``orchd.client``."""
