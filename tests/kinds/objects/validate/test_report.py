"""Reports of validation."""

from __future__ import annotations

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.report import Report


@pytest.mark.parametrize("more", [0, 1])
def test_long_values_are_cut(more: int) -> None:
    """A printed value has 32 KiB at most; a longer one is cut and marked."""
    size = (32 << 10) - len('""') + more
    text = Report(ObjectSettings(dialect=ORCH)).show("x" * size)
    assert text == '"' + "x" * ((32 << 10) - 1) + "..." if more else text == '"' + "x" * size + '"'
