"""Tests of ``orchd.server.authz``."""
