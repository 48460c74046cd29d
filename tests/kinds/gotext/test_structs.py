"""Values of internal types as text."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext import internal_types
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
    own = [name for name in (*internal_types._OWN, "v1.ObjectMeta") if not name.startswith("apiextensions.")]
    unknown = {}
    for name in own:
        package, _, short = name.rpartition(".")
        published = catalog.type(f"{'meta' if package == 'v1' else package}/v1.{short}").fields
        fields = {field.json_name for field in _fields(name) if not field.embedded}
        unknown[name] = fields - {member.lower() for member in published} - _ELSEWHERE.get(name, set())
    assert {name: fields for name, fields in unknown.items() if fields} == {}


@pytest.mark.parametrize(
    ("type_name", "fields"),
    [
        ("core.SecretVolumeSource", "SecretName:string Items:[]core.KeyToPath DefaultMode:*int32 Optional:*bool"),
        ("core.RBDVolumeSource", "CephMonitors=monitors:[]string RBDImage=image:string FSType:string"),
        ("core.HostAlias", "IP:string Hostnames:[]string"),
        ("core.Capabilities", "Add:[]core.Capability Drop:[]core.Capability"),
        ("core.PersistentVolumeSpec", "Capacity:core.ResourceList VolumeMode:*core.PersistentVolumeMode"),
        ("core.Container", "EnvFrom:[]core.EnvFromSource ResizePolicy:[]core.ContainerResizePolicy@1.35 TTY:bool"),
        ("resource.Device", "Attributes:map[string]resource.DeviceAttribute"),
        ("resource.OpaqueDeviceConfiguration", "Driver:string Parameters:runtime.RawExtension"),
        ("v1.LabelSelector", "MatchLabels:map[string]string MatchExpressions:[]v1.LabelSelectorRequirement"),
        ("v1.LabelSelectorRequirement", "Key!:string Operator!:string Values:[]string"),
    ],
)
def test_fields_are_those_of_the_published_type_under_go_names(type_name: str, fields: str) -> None:
    """A field has its Go name and type, and the release that begins to have it."""
    expected = fields.split()
    names = {each.partition(":")[0] for each in expected}
    assert [each for each in internal_types.fields_of(type_name) if each.partition(":")[0] in names] == expected


def test_fields_that_differ_are_fields_of_published_types() -> None:
    """Each row of the table is about a field that exists."""
    for key in internal_types._OWN_FIELDS:
        package, short, member = key.split(".")
        assert member in {line[0] for line in internal_types._PUBLISHED[package][short]}, key
