"""Tests of ``orchd.kinds.objects.volumes``."""
