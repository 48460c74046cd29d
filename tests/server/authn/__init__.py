"""Tests of ``orchd.server.authn``."""
