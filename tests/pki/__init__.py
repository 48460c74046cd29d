"""Tests of ``orchd.pki``."""
