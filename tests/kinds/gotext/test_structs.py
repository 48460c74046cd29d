"""Values of internal types as text."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.gotext.structs import dump
from orchd.kinds.gotext.values import show_json


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        (
            "v1.LabelSelector",
            {"matchExpressions": [{"key": "t", "values": ["x"]}, {}]},
            '{"matchExpressions":[{"key":"t","operator":"","values":["x"]},{"key":"","operator":""}]}',
        ),
        ("core.EventSource", {"component": "c"}, '{"Component":"c","Host":""}'),
        ("core.ISCSIVolumeSource", {"chapAuthDiscovery": True}, '"DiscoveryCHAPAuth":true,"SessionCHAPAuth":false'),
        (
            "core.ISCSIPersistentVolumeSource",
            {"chapAuthSession": True},
            '"DiscoveryCHAPAuth":false,"SessionCHAPAuth":true',
        ),
    ],
)
def test_values_as_json_of_internal_types(type_name: str, value: Any, text: str) -> None:
    """Fields have their names in the type, or those of JSON if the type is published; some are there though empty."""
    assert text in show_json(dump(type_name, value))
