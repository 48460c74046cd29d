"""Tests of ``orchd.kinds.objects.validate``."""
