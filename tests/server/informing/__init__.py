"""Tests of ``orchd.server.informing``."""
