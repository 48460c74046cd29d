"""Tests of ``orchd.server.http``."""
