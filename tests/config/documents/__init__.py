"""Tests of ``orchd.config.documents``."""
