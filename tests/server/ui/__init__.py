"""Tests of ``orchd.server.ui``."""
