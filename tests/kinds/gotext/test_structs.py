"""Values of internal types as text."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext.internal_types import TYPES
from orchd.kinds.gotext.structs import _fields, dump
from orchd.kinds.gotext.values import show_json
from orchd.kinds.release import NEWEST

#: Fields that are elsewhere in JSON, or gone.
_ELSEWHERE = {
    "core.PodSecurityContext": {"hostnetwork", "hostipc", "hostpid", "shareprocessnamespace", "hostusers"},
    "v1.ObjectMeta": {"clustername"},
}


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


def test_fields_of_internal_types_are_those_of_json() -> None:
    """Each field of an internal type of a built-in kind is a member of the published type."""
    catalog = builtin_catalog(KUBERNETES, NEWEST)
    unknown = {}
    looked_at = 0
    for name in TYPES:
        package, _, short = name.rpartition(".")
        if package == "apiextensions":
            continue
        try:
            published = catalog.type(f"{'meta' if package == 'v1' else package}/v1.{short}").fields
        except KeyError:
            continue
        looked_at += 1
        own = {field.json_name for field in _fields(name) if not field.embedded}
        unknown[name] = own - {member.lower() for member in published} - _ELSEWHERE.get(name, set())
    assert looked_at > 150
    assert {name: fields for name, fields in unknown.items() if fields} == {}
