"""Tests of ``orchd.store.serving``."""
