"""Tests of ``orchd.kinds.objects.schema_check``."""
