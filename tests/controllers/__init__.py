"""Tests of ``orchd.controllers``."""
