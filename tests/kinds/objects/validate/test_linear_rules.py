"""Rules over lists compare each item with few others: bodies may have tens of thousands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext.structs import dump
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.objects.validate.repeats import repeats
from orchd.kinds.release import NEWEST

COUNT = 400


class Counted(str):
    """A text that counts its comparisons."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)

    def startswith(self, *arguments: Any) -> bool:
        Counted.compared += 1
        return str.startswith(self, *arguments)


def names() -> list[str]:
    return [Counted(f"n{i}") for i in range(COUNT)]


def pod(container: Any = None, **spec: Any) -> tuple[str, str, Any]:
    return "v1", "Pod", {"spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}}


OBJECTS: dict[str, Callable[[], tuple[str, str, Any]]] = {
    "schedulingGates": lambda: pod(schedulingGates=[{"name": name} for name in names()]),
    "topologySpreadConstraints": lambda: pod(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": name, "whenUnsatisfiable": "DoNotSchedule"} for name in names()
        ]
    ),
    "claims": lambda: pod({"resources": {"claims": [{"name": name} for name in names()]}}),
    "podCIDRs": lambda: ("v1", "Node", {"spec": {"podCIDRs": names()}}),
    "ipFamilies": lambda: ("v1", "Service", {"spec": {"ipFamilies": names(), "ports": [{"port": 80}]}}),
    "tolerations": lambda: (
        "node.k8s.io/v1",
        "RuntimeClass",
        {"handler": "h", "scheduling": {"tolerations": [{"key": name, "operator": "Exists"} for name in names()]}},
    ),
    "usages": lambda: (
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        {"spec": {"request": "", "usages": names(), "signerName": "a.example/b"}},
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_comparisons_grow_with_the_list(name: str) -> None:
    """Each item of a list is compared a few times, not with all others."""
    api_version, kind, body = OBJECTS[name]()
    resource = builtin_catalog(KUBERNETES, NEWEST).kind(api_version, kind)
    assert resource is not None
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, **body}
    Counted.compared = 0
    dispatch.validate_create(obj, resource, ObjectSettings(dialect=KUBERNETES, release=NEWEST))
    assert Counted.compared < 60 * COUNT


def test_repeated_values() -> None:
    assert repeats(["a", "b", "a", "a"]) == {2, 3}
    assert repeats([{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1}]) == {1}
    assert repeats([]) == set()


def test_repeats_are_reported_where_they_were() -> None:
    """The later of two equal gates, the earlier of two equal constraints, and a claim of which a request was used
    before."""
    spread = {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"}
    api_version, kind, body = pod(
        {"resources": {"claims": [{"name": "a", "request": "r"}, {"name": "a", "request": "s"}, {"name": "a"}]}},
        schedulingGates=[{"name": "a"}, {"name": "b"}, {"name": "a"}],
        topologySpreadConstraints=[spread, {**spread, "whenUnsatisfiable": "ScheduleAnyway"}, spread],
        resourceClaims=[{"name": "a", "resourceClaimName": "x"}],
    )
    resource = builtin_catalog(KUBERNETES, NEWEST).kind(api_version, kind)
    assert resource is not None
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, **body}
    causes = dispatch.validate_create(obj, resource, ObjectSettings(dialect=KUBERNETES, release=NEWEST))
    repeated = [cause.field for cause in causes if cause.reason == "FieldValueDuplicate"]
    assert sorted(repeated) == [
        "spec.containers[0].resources.claims[2]",
        "spec.containers[0].resources.claims[2]",
        "spec.schedulingGates[2]",
        "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
    ]


def test_a_value_is_encoded_once_for_all_messages() -> None:
    """A large value that many causes show is encoded for the first of them."""
    shown = dump("[]core.ResourceQuotaScope", [f"n{i}" for i in range(COUNT)])
    assert shown.as_json.startswith('["n0","n1"') and shown.as_json is shown.as_json
