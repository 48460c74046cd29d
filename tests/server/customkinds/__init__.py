"""Tests of ``orchd.server.customkinds``."""
