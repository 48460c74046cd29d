"""Tests of ``orchd.txkit``."""
