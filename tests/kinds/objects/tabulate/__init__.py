"""Tests of ``orchd.kinds.objects.tabulate``."""
