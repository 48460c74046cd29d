"""Defaults that depend on other fields."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.ir import Field, Type
from orchd.kinds.objects.default import apply, fill
from orchd.kinds.objects.defaults.images import pull_policy
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import canonical

SETTINGS = ObjectSettings(dialect=ORCH)
CATALOG = builtin_catalog(ORCH)


def defaulted(obj: dict[str, Any], settings: ObjectSettings = SETTINGS) -> dict[str, Any]:
    resource = CATALOG.kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    return apply(canonical(obj, resource.type), resource, settings)


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"), ("a:latest", "Always"), ("a:1", "IfNotPresent"), ("reg.example.com:5000/a/b", "Always"),
        ("reg.example.com:5000/a/b:v1.2", "IfNotPresent"), ("a@sha256:" + "0" * 64, "IfNotPresent"),
        ("a:latest@sha256:" + "0" * 64, "Always"), ("", "IfNotPresent"), ("UPPER", "IfNotPresent"), ("a b", "IfNotPresent"),
        ("[::1]:80/a", "Always"), ("0" * 64, "IfNotPresent"), ("a--b/c__d", "Always"), ("a..b", "IfNotPresent"),
    ],
)  # fmt: skip
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    """Images with the tag latest default to Always; those with an invalid name do not."""
    assert pull_policy(image) == policy


@pytest.mark.parametrize("image", ["a" * 4000 + "!", "a-" * 2000 + "!", "a." * 2000 + "!", "A" * 4000 + "!"])
def test_invalid_image_names_are_recognized_quickly(image: str) -> None:
    """Invalid names are rejected at once; a backtracking search would not end."""
    assert pull_policy(image) == "IfNotPresent"


def test_service_defaults_follow_its_type() -> None:
    """Traffic policies and node ports depend on the type; the affinity timeout is set only for ClientIP."""
    sent = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
        "spec": {"sessionAffinity": "None", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}, "ports": [{"port": 1}]},
    }  # fmt: skip
    assert defaulted(sent)["spec"] == {
        "sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 1, "targetPort": 1, "protocol": "TCP"}],
    }  # fmt: skip
    sent["spec"] = {"type": "LoadBalancer"}
    assert defaulted(sent)["spec"] == {
        "type": "LoadBalancer", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True,
    }  # fmt: skip


def test_amounts_are_rounded_up_to_thousandths() -> None:
    """Resource amounts are rounded up to three decimal places."""
    sent = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {},
        "spec": {"hard": {"cpu": "1500u", "pods": "3"}},
    }
    assert defaulted(sent)["spec"]["hard"] == {"cpu": "2m", "pods": "3"}


def test_old_init_container_annotations_are_dropped() -> None:
    """Pods and pod templates of all kinds drop the annotations that preceded the initContainers field."""
    old = {
        f"pod.{stage}.orch.io/init-container{what}": "[]" for stage in ("alpha", "beta") for what in ("s", "-statuses")
    }
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {**old, "k": "v"}},
    }
    assert defaulted(pod)["metadata"]["annotations"] == {"k": "v"}
    template = {"metadata": {"annotations": old}, "spec": {}}
    deployment = defaulted(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}}
    )
    assert "annotations" not in deployment["spec"]["template"]["metadata"]


def test_singular_and_plural_members_agree() -> None:
    """Fields that exist in singular and plural form are kept consistent."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {}, "spec": {"podCIDR": "10.0.0.0/24"}}
    assert defaulted(node)["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"serviceAccount": "x"},
        "status": {"podIP": "1.2.3.4"},
    }
    assert defaulted(pod)["spec"]["serviceAccountName"] == "x"
    assert defaulted(pod)["status"]["podIPs"] == [{"ip": "1.2.3.4"}]


def test_subjects_get_their_group() -> None:
    """Users and groups get the RBAC group, service accounts the core group."""
    group = ORCH("rbac.authorization.{abbr}.io")
    sent = {
        "apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}],
    }  # fmt: skip
    out = defaulted(sent)
    assert out["roleRef"]["apiGroup"] == group
    assert out["subjects"] == [
        {"kind": "User", "name": "u", "apiGroup": group},
        {"kind": "ServiceAccount", "name": "s"},
    ]


def test_defaulting_does_not_mutate() -> None:
    """Defaulting returns a new tree."""
    sent = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    before = repr(sent)
    defaulted(sent)
    assert repr(sent) == before


def test_defaults_of_custom_kinds() -> None:
    """A schema's defaults are set where a member is missing, or null and not nullable; other nulls are dropped."""
    inner = Type("struct", members=[Field("x", Type("int64", constraints={}), default=1)], constraints={})
    text = Type("string", constraints={})
    type = Type(
        "struct",
        members=[
            Field("spec", inner, default={}),
            Field("a", text, default="d"),
            Field("b", Type("string", nullable=True, constraints={}), default="d"),
            Field("c", text),
            Field("m", Type("map", element=text, constraints={})),
        ],
        constraints={},
    )
    obj = {"a": None, "b": None, "c": None, "m": {"k": None, "l": "x"}}
    assert fill(obj, type, SETTINGS) == {"spec": {"x": 1}, "a": "d", "b": None, "m": {"l": "x"}}
    wrong = {"spec": "text", "a": "a", "m": []}
    assert fill(wrong, type, SETTINGS) == {**wrong, "b": "d"}


def test_specs_of_volumes_in_attachments_have_no_defaults() -> None:
    """The spec of a volume has the defaults of its object, not those of any place where a spec is."""
    spec = {"csi": {"driver": "a.b", "volumeHandle": "x"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "a"}, "spec": spec}
    assert defaulted(volume)["spec"] == {**spec, "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}
    attached = {"attacher": "a.b", "nodeName": "n", "source": {"inlineVolumeSpec": spec}}
    storage = ORCH("storage.{abbr}.io/v1")
    attachment = {"apiVersion": storage, "kind": "VolumeAttachment", "metadata": {"name": "a"}, "spec": attached}
    assert defaulted(attachment)["spec"]["source"] == {"inlineVolumeSpec": spec}


def test_an_empty_surge_is_a_value() -> None:
    """Only an absent surge has a default: an empty text is rejected later."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": ""}}
    spec = {"selector": {}, "template": {}, "updateStrategy": strategy}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": spec}
    assert defaulted(daemons)["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": "", "maxUnavailable": 1}


TEXT = Type("string", constraints={})
LARGE = "x" * 10_000


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (
            Type(
                "list",
                element=Type("struct", members=[Field("t", TEXT, default=LARGE)], constraints={}),
                constraints={},
            ),
            lambda count: [{} for _ in range(count)],
        ),
        (Type("list", element=TEXT, element_default=LARGE, constraints={}), lambda count: [None] * count),
        (
            Type("map", element=TEXT, element_default=LARGE, constraints={}),
            lambda count: {str(i): None for i in range(count)},
        ),
    ],
)
def test_custom_defaults_add_a_bounded_size(schema: Type, value: Any) -> None:
    """Members that are missing, and items and values that are null, get their default as long as all of them can be
    stored; those that are there add nothing."""
    kind = Type("struct", members=[Field("v", schema)], constraints={})
    filled = fill({"v": value(100)}, kind, SETTINGS)["v"]
    items = filled if isinstance(filled, list) else filled.values()
    assert all(item in (LARGE, {"t": LARGE}) for item in items)
    with pytest.raises(ApiError):
        fill({"v": value(1000)}, kind, SETTINGS)
    assert fill({"v": filled}, kind, SETTINGS)["v"] == filled
    several = [*items] * 100 if isinstance(filled, list) else {f"{i}": LARGE for i in range(10_000)}
    assert fill({"v": several}, kind, SETTINGS)["v"] == several
