"""URL paths of resources."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.client.paths import collection, item

MAPS = ResourceRef("", "v1", "configmaps")


@pytest.mark.parametrize("text", ["a-0.b", "system:node", "a b", "a\n", "a/../b", "ü", "50%", "~"])
def test_names_are_quoted(text: str) -> None:
    """A name or namespace is one segment of the path, whatever it contains."""
    quoted = quote(text, safe="")
    assert item(MAPS, text, text) == f"/api/v1/namespaces/{quoted}/configmaps/{quoted}"
    assert collection(MAPS, text) == f"/api/v1/namespaces/{quoted}/configmaps"
