"""Tests of ``orchd.server.admission``."""
