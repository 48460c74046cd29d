"""Tests of ``orchd.controllers.volumes``."""
