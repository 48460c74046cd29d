"""References of pods to other objects."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.references import pod_references

EPHEMERAL: dict[str, Any] = {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}


@pytest.mark.parametrize(("metadata", "claim"), [({"name": "p"}, "p-v"), ({"generateName": "p-"}, "-v"), ({}, "-v")])
def test_pods_without_a_name_have_references(metadata: dict[str, Any], claim: str) -> None:
    """A pod that is being created may have no name yet."""
    assert list(pod_references({"metadata": metadata, "spec": {"volumes": [EPHEMERAL]}})) == [("claim", claim)]
