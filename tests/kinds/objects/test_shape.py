"""Canonical shape: the result of decoding an object into its type and encoding it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import DIALECTS, ORCH, Dialect
from orchd.kinds.catalog import Catalog, builtin_catalog
from orchd.kinds.ir import Field, Type
from orchd.kinds.objects.empty_collections import as_stored
from orchd.kinds.objects.shape import ShapeError, canonical
from orchd.kinds.objects.shape_scalars import NumberText
from orchd.kinds.release import NEWEST

SOME_TIME = "2020-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builtin_catalog(ORCH, enabled=lambda group, version, default: not group.startswith("internal."))


def shaped(catalog: Catalog, obj: dict[str, Any]) -> dict[str, Any]:
    resource = catalog.kind(obj["apiVersion"], obj["kind"])
    assert resource is not None
    return canonical(obj, resource.type)


def config_map(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **members}


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "creationTimestamp": SOME_TIME}, "spec": spec}


MISMATCHES = [
    (config_map(metadata="x"), "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
    (
        config_map(metadata={"labels": {"a": 1}}),
        "number into Go struct field ObjectMeta.metadata.labels of type string",
    ),
    (config_map(metadata={"uid": 1}), "number into Go struct field ObjectMeta.metadata.uid of type types.UID"),
    (config_map(data=["a"]), "array into Go struct field ConfigMap.data of type map[string]string"),
    (config_map(immutable="yes"), "string into Go struct field ConfigMap.immutable of type bool"),
    (
        config_map(metadata={"generation": 1.5}),
        "number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
    ),
    (
        config_map(metadata={"generation": NumberText("1e2")}),
        "number 1e2 into Go struct field ObjectMeta.metadata.generation of type int64",
    ),
    (
        config_map(metadata={"creationTimestamp": 5}),
        "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    ),
    (pod(containers={}), "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
    (
        pod(containers=[{"imagePullPolicy": 1}]),
        "number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
    ),
    (pod(priority=3000000000), "number 3000000000 into Go struct field PodSpec.spec.priority of type int32"),
    (pod(overhead="x"), "string into Go struct field PodSpec.spec.overhead of type v1.ResourceList"),
]


@pytest.mark.parametrize(("obj", "message"), MISMATCHES)
def test_type_mismatches_name_struct_field_and_type(catalog: Catalog, obj: dict[str, Any], message: str) -> None:
    """The error for a value of the wrong JSON type names the innermost struct, the path and the declared type."""
    with pytest.raises(ShapeError) as caught:
        shaped(catalog, obj)
    assert str(caught.value) == "json: cannot unmarshal " + message


@pytest.mark.parametrize("dialect", DIALECTS.values())
def test_types_of_fields_whose_names_differ_between_dialects(dialect: Dialect) -> None:
    """A named type is found by the name that its field has in the dialect."""
    rules = dialect("x-{long}-validations")
    versions = [{"schema": {"openAPIV3Schema": {rules: "0"}}}]
    version = dialect("apiextensions.{abbr}.io/v1")
    with pytest.raises(ShapeError) as caught:
        shaped(
            builtin_catalog(dialect, NEWEST),
            {"apiVersion": version, "kind": "CustomResourceDefinition", "spec": {"versions": versions}},
        )
    assert str(caught.value) == (
        f"json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.{rules} "
        "of type v1.ValidationRules"
    )


@pytest.mark.parametrize(
    ("obj", "struct", "path", "type"),
    [
        (
            pod(volumes=[{"secret": {"optional": 1}}]),
            "SecretVolumeSource",
            "spec.volumes.VolumeSource.secret.optional",
            "bool",
        ),
        (
            pod(containers=[{"livenessProbe": {"httpGet": {"path": 1}}}]),
            "HTTPGetAction",
            "spec.containers.livenessProbe.ProbeHandler.httpGet.path",
            "string",
        ),
        (
            pod(ephemeralContainers=[{"restartPolicy": 1}]),
            "EphemeralContainer",
            "spec.ephemeralContainers.EphemeralContainerCommon.restartPolicy",
            "v1.ContainerRestartPolicy",
        ),
        (
            {"apiVersion": "v1", "kind": "Service", "spec": {"ipFamilyPolicy": 1}},
            "ServiceSpec",
            "spec.ipFamilyPolicy",
            "v1.IPFamilyPolicy",
        ),
        (
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"allocatedResourceStatuses": 1}},
            "PersistentVolumeClaimStatus",
            "status.allocatedResourceStatuses",
            "map[v1.ResourceName]v1.ClaimResourceStatus",
        ),
    ],
)
def test_later_releases_name_inlined_structs(obj: dict[str, Any], struct: str, path: str, type: str) -> None:
    """The path of an error has the inlined structs through which a field is reached, and types have their later
    names."""
    with pytest.raises(ShapeError) as caught:
        shaped(builtin_catalog(ORCH, NEWEST), obj)
    assert str(caught.value) == f"json: cannot unmarshal number into Go struct field {struct}.{path} of type {type}"


def test_member_names_are_case_sensitive(catalog: Catalog) -> None:
    """Names are case-sensitive; unknown members are dropped."""
    assert shaped(catalog, config_map(DATA={"a": "b"}, metadata={"NAME": "x"})) == config_map(
        metadata={"creationTimestamp": None}
    )


def test_empty_optional_members_are_dropped(catalog: Catalog) -> None:
    """Empty optional members are dropped unless empty differs from unset; null means unset, and in maps empty."""
    sent = pod(
        containers=[{"name": "c", "image": "", "command": [], "env": [{"name": "a", "value": None}], "stdin": False}],
        hostname="", nodeSelector={}, automountServiceAccountToken=False, priority=None, securityContext={}, overhead=None,
    )  # fmt: skip
    assert shaped(catalog, sent)["spec"] == {
        "containers": [{"name": "c", "env": [{"name": "a"}], "resources": {}}],
        "automountServiceAccountToken": False,
        "securityContext": {},
    }
    assert shaped(catalog, config_map(metadata={}, data={"a": None}))["data"] == {"a": ""}


def test_required_members_are_always_written(catalog: Catalog) -> None:
    """Required members are written even if they were missing: structs as {}, times and lists as null."""
    sent = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {}}
    assert shaped(catalog, sent) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "creationTimestamp": None},
        "spec": {
            "selector": None,
            "template": {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }


def test_scalars_are_canonical(catalog: Catalog) -> None:
    """Quantities, times and base64 are canonical; an empty required list is stored as null."""
    sent = pod(containers=[{"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": 1024}}}])
    assert shaped(catalog, sent)["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1", "memory": "1024"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"a": "YWJj\nZA=="}}
    assert shaped(catalog, secret)["data"] == {"a": "YWJjZA=="}
    role: dict[str, Any] = {
        "apiVersion": ORCH("rbac.authorization.{abbr}.io/v1"),
        "kind": "Role",
        "metadata": {},
        "rules": [],
    }
    assert shaped(catalog, role)["rules"] == []
    resource = catalog.kind(role["apiVersion"], "Role")
    assert resource is not None
    assert as_stored(role, resource.type)["rules"] is None
    kept = {**role, "rules": [{"verbs": ["get"]}]}
    assert as_stored(kept, resource.type) is kept


@pytest.mark.parametrize(
    ("text", "at"), [("***", 0), ("YWJ", 0), ("YWJjY", 4), ("YW=j", 2), ("YQ==YQ==", 4), ("YQ=", 3), ("YW Jj", 2)]
)
def test_invalid_base64_is_located(catalog: Catalog, text: str, at: int) -> None:
    """The error for invalid base64 has the index of the first invalid byte."""
    with pytest.raises(ShapeError) as caught:
        shaped(catalog, {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"a": text}})
    assert str(caught.value) == f"illegal base64 data at input byte {at}"


def test_nested_json_schemas(catalog: Catalog) -> None:
    """JSON schemas nest; JSONSchemaPropsOr fields keep the form in which they were sent."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string", "default": "x", "enum": [None, "x"]}}},
        "additionalProperties": False,
        "required": [],
    }
    sent = {
        "apiVersion": ORCH("apiextensions.{abbr}.io/v1"), "kind": "CustomResourceDefinition", "metadata": {},
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
    }  # fmt: skip
    schema.pop("required")
    assert shaped(catalog, sent)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_stored_objects_are_canonical(catalog: Catalog, reference: Callable[[str], Any]) -> None:
    """An object that the recorded server stored is in canonical shape already."""
    for example in reference("defaults")["objects"]:
        text = json.dumps(example["stored"]).replace("<time>", SOME_TIME).replace("<csr>", "YQ==")
        obj = json.loads(text.replace("<pem>", "YQ==").replace("<CA>", "YQ=="))
        obj["metadata"]["creationTimestamp"] = SOME_TIME
        if catalog.kind(obj["apiVersion"], obj["kind"]) is not None:
            assert shaped(catalog, obj) is obj, example["id"]


def test_recorded_decoding_errors(catalog: Catalog, reference: Callable[[str], Any]) -> None:
    """Every recorded decoding error has the recorded message."""
    checked = 0
    for case in reference("validation")["cases"]:
        body, message = case["req"].get("body"), case["ans"].get("message") or ""
        decoding = ("json: cannot unmarshal", "parsing time", "quantities must", "illegal base64", "unable to parse q")
        head, _, text = message.partition(": ")
        if isinstance(body, dict) and "cannot be handled as" in head and text.startswith(decoding):
            resource = catalog.kind(body["apiVersion"], body["kind"])
            if resource is not None:
                with pytest.raises(ShapeError) as caught:
                    canonical(body, resource.type)
                assert str(caught.value) == text, case["id"]
                checked += 1
    assert checked >= 20


def custom(**fields: Type) -> Type:
    return Type("struct", members=[Field(name, type) for name, type in fields.items()], constraints={})


def test_custom_objects_are_only_pruned() -> None:
    """Unknown members of custom objects are pruned; empty members are kept and nothing is added."""
    spec = custom(a=Type("string", constraints={}), l=Type("list", element=custom(x=Type("any")), constraints={}))
    keep = Type("struct", members=[], preserve_unknown=True, constraints={})
    type = custom(spec=spec, free=keep)
    spec_sent = {"a": "", "l": [{"x": None, "y": 1}], "q": 1}
    obj = {"kind": "X", "metadata": {"name": "n"}, "spec": spec_sent, "free": {"z": [{}]}, "zz": 2}
    assert canonical(obj, type) == {
        "kind": "X", "metadata": {"name": "n"}, "spec": {"a": "", "l": [{"x": None}]}, "free": {"z": [{}]},
    }  # fmt: skip


def test_malformed_scalars_come_before_types(catalog: Catalog) -> None:
    """A malformed time or quantity is reported though a value before it is of a wrong type; malformed base64 is not."""
    with pytest.raises(ShapeError, match=r'^parsing time "x"'):
        shaped(catalog, config_map(data=1, metadata={"uid": 1, "creationTimestamp": "x"}))
    with pytest.raises(ShapeError, match=r"of type types.UID$"):
        shaped(catalog, config_map(metadata={"uid": 1, "labels": {"a": 1}}, binaryData={"a": "!"}))
