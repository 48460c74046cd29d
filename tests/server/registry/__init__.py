"""Tests of ``orchd.server.registry``."""
