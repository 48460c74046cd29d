"""CustomResourceDefinitions as resources and types."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.crd import rules
from orchd.kinds.crd.conditions import authority_error, condition, is_established, with_condition
from orchd.kinds.crd.naming import decide_names, taken_by
from orchd.kinds.crd.resources import CustomKind, custom_kind
from orchd.kinds.crd.scale import scale_mapping
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.pemblocks import ca_bundle_error
from orchd.pki.certificates import self_signed
from tests.kinds.test_body_bounds import lines

CATALOG = builtin_catalog(ORCH)
SETTINGS = ObjectSettings(dialect=ORCH)


def definition(*schemas: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A definition whose versions v1, v2, ... have `schemas`; the first version is stored."""
    versions = [
        {"name": f"v{i}", "served": True, "storage": i == 1, "schema": {"openAPIV3Schema": schema}, **more}
        for i, schema in enumerate(schemas, 1)
    ]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions},
    }


def make_resource(*schemas: dict[str, Any], **more: Any) -> CustomKind:
    whole = definition(*schemas, **more)
    return custom_kind(whole, lambda: whole, CATALOG.types, ORCH)


def obj(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def settle(kind: CustomKind, value: dict[str, Any]) -> dict[str, Any]:
    """`value` pruned and defaulted, without the members that every object has."""
    resource = kind.resources[0]
    whole = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **value}
    out = default.apply(shape.canonical(whole, resource.type), resource, SETTINGS)
    return {key: item for key, item in out.items() if key not in ("apiVersion", "kind", "metadata")}


def test_resource_follows_the_definition() -> None:
    """Names, store key, verbs and subresources come from the definition; all versions have its storage version."""
    kind = make_resource({"type": "object"}, {"type": "object"}, subresources={"status": {}})
    first, second = kind.resources
    assert (first.kind, first.plural, first.list_kind, first.short_names) == ("Thing", "things", "ThingList", ("th",))
    assert first.key == second.key == "example.com/things"
    assert first.storage_version == second.storage_version == "example.com/v1"
    assert list(first.subresources) == ["status"] and first.custom
    catalog = CATALOG.adding(kind.resources)
    group = catalog.group("example.com")
    assert group is not None and group.versions == ("v2", "v1")
    assert catalog.storage_type(second) is first.type


def test_storage_version_need_not_be_served() -> None:
    """Objects may be stored in a version that is not served."""
    whole = definition({"type": "object"}, obj({"a": {"type": "string"}}))
    whole["spec"]["versions"][0]["served"] = False
    kind = custom_kind(whole, lambda: whole, CATALOG.types, ORCH)
    (only,) = kind.resources
    assert only.version == "v2" and kind.stored.version == "v1"
    assert CATALOG.adding([only]).storage_type(only) is kind.types["v1"]


def test_schemas_are_loaded_lazily() -> None:
    """The schema of a definition is loaded only when its kind is used."""
    whole, loaded = definition(obj({"spec": obj({"a": {"type": "string"}})})), []

    def load() -> dict[str, Any]:
        loaded.append(1)
        return whole

    kind = custom_kind(whole, load, CATALOG.types, ORCH)
    assert not loaded
    assert kind.resources[0].type.fields["spec"].type.fields["a"].type.kind == "string"
    assert loaded


def test_unknown_members_are_pruned() -> None:
    """Members that a schema does not specify are pruned, except where it preserves unknown fields."""
    kind = make_resource(
        obj(
            {
                "spec": obj(
                    {"a": {"type": "integer"}, "l": {"type": "array", "items": obj({"b": {"type": "string"}})}}
                ),
                "free": {"type": "object", "x-orch-preserve-unknown-fields": True, "properties": {"n": obj({})}},
                "m": {"type": "object", "additionalProperties": obj({"c": {"type": "string"}})},
            }
        )
    )
    value = {
        "spec": {"a": 1, "z": 1, "l": [{"b": "x", "y": 1}]},
        "free": {"any": {"thing": 1}, "n": {"gone": 1}},
        "m": {"k": {"c": "x", "d": 1}},
        "other": 1,
    }
    assert settle(kind, value) == {
        "spec": {"a": 1, "l": [{"b": "x"}]}, "free": {"any": {"thing": 1}, "n": {}}, "m": {"k": {"c": "x"}},
    }  # fmt: skip


def test_embedded_objects_keep_type_and_metadata() -> None:
    """apiVersion, kind and metadata of an embedded object are kept without being in the schema; unknown metadata is
    pruned."""
    inner = {"type": "object", "x-orch-embedded-resource": True, "properties": {"spec": obj({})}}
    value = {"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "zzz": 1}, "spec": {"x": 1}, "y": 1}}
    kept = settle(make_resource(obj({"e": inner})), value)["e"]
    assert kept == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}


WRONG = [
    ({"e": {"apiVersion": 1}}, "e.apiVersion: Invalid value: 1: must be a string"),
    (
        {"l": [{}, {"metadata": {"labels": {"a": 1}}}]},
        'l[1].metadata: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":1}}: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    ),
    (
        {"m": {"k": {"metadata": "x"}}},
        'm[k].metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
    ),
]


@pytest.mark.parametrize(("value", "why"), WRONG)
def test_invalid_embedded_objects_are_reported(value: dict[str, Any], why: str) -> None:
    """Invalid apiVersion, kind or metadata is reported with its path."""
    inner = {"type": "object", "x-orch-embedded-resource": True, "x-orch-preserve-unknown-fields": True}
    kind = make_resource(
        obj(
            {"e": inner, "l": {"type": "array", "items": inner}, "m": {"type": "object", "additionalProperties": inner}}
        )
    )
    with pytest.raises(shape.ShapeError) as caught:
        settle(kind, value)
    assert str(caught.value) == why


def test_additional_properties_keep_plain_values_only() -> None:
    """Under `additionalProperties: true` plain values stay and unknown members of objects are pruned; a list that
    preserves unknown fields keeps all."""
    kind = make_resource(
        obj(
            {
                "m": {"type": "object", "additionalProperties": True},
                "l": {"type": "array", "x-orch-preserve-unknown-fields": True},
            }
        )
    )
    value = {"m": {"a": 1, "b": {"c": 1}, "d": [{"e": 1}, 2]}, "l": [{"a": 1}]}
    assert settle(kind, value) == {"m": {"a": 1, "b": {}, "d": [{}, 2]}, "l": [{"a": 1}]}


def test_defaults_fill_missing_members() -> None:
    """Defaults fill missing members, also inside defaults; null counts as missing unless it is nullable."""
    kind = make_resource(
        obj(
            {
                "spec": obj(
                    {
                        "n": {"type": "integer", "default": 3},
                        "s": {"type": "string", "nullable": True, "default": "x"},
                        "o": obj({"p": {"type": "string", "default": "q"}}, default={}),
                        "d": {"type": "string"},
                    }
                )
            }
        )
    )
    assert settle(kind, {"spec": {"n": None, "s": None, "d": None}}) == {"spec": {"n": 3, "s": None, "o": {"p": "q"}}}
    assert settle(kind, {}) == {}


NULLS: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "array", "items": {"type": "string", "default": "A"}}, [None, "b"], ["A", "b"]),
    ({"type": "array", "items": {"type": "string", "default": "A", "nullable": True}}, [None], [None]),
    ({"type": "array", "items": {"type": "string"}}, [None], [None]),
    ({"type": "object", "additionalProperties": {"type": "string", "default": "A"}}, {"a": None}, {"a": "A"}),
    ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": None}, {}),
    ({"type": "object", "additionalProperties": {"type": "string", "nullable": True}}, {"a": None}, {"a": None}),
    ({"type": "object", "additionalProperties": True}, {"a": None, "b": {"c": 1}}, {"a": None, "b": {}}),
    (
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "default": "A"}}}},
        ["x", {}, 1],
        ["x", {"a": "A"}, 1],
    ),
    (
        {
            "type": "array",
            "x-orch-preserve-unknown-fields": True,
            "items": {"type": "object", "properties": {"a": {"type": "object"}}},
        },
        [{"a": {"b": 1}, "c": {"d": 1}}],
        [{"a": {}, "c": {"d": 1}}],
    ),
]


@pytest.mark.parametrize(("schema", "value", "expected"), NULLS)
def test_null_and_mistyped_elements(schema: dict[str, Any], value: Any, expected: Any) -> None:
    """A null that is not nullable becomes the default or is dropped from its object; items of another type are left to
    validation; a list that preserves unknown fields preserves those of its items."""
    assert settle(make_resource(obj({"v": schema})), {"v": value}) == {"v": expected}


def test_deprecated_versions_warn() -> None:
    """The author's warning is used if there is one."""
    plain = make_resource({"type": "object"}, deprecated=True).resources[0].deprecation
    own = make_resource({"type": "object"}, deprecated=True, deprecationWarning="use another").resources[0].deprecation
    assert plain is not None and plain.warning("Thing", "example.com/v1") == "example.com/v1 Thing is deprecated"
    assert own is not None and own.warning("Thing", "example.com/v1") == "use another"


@pytest.mark.parametrize(
    ("version", "others", "instead"),
    [
        ("v1beta1", {"v1": {}, "v2alpha1": {}}, "; use example.com/v1 Thing"),
        ("v1alpha1", {"v1beta2": {}, "v1beta1": {}}, "; use example.com/v1beta2 Thing"),
        ("v1", {"v1beta1": {}}, ""),
        ("v1beta1", {"v1": {"served": False}, "v2": {"deprecated": True}}, ""),
    ],
)
def test_deprecation_warning_names_the_replacement(version: str, others: dict[str, Any], instead: str) -> None:
    """The default warning names the best served version that is better and not deprecated itself."""
    whole = definition()
    versions = [{"name": version, "deprecated": True}, *({"name": n, **o} for n, o in others.items())]
    whole["spec"]["versions"] = [{"served": True, "storage": each is versions[0], **each} for each in versions]
    said = custom_kind(whole, lambda: whole, CATALOG.types, ORCH).stored.deprecation
    assert said is not None
    assert said.warning("Thing", f"example.com/{version}") == f"example.com/{version} Thing is deprecated{instead}"


def test_scale_mapping() -> None:
    """Paths become member names; a kind without a scale subresource has no mapping."""
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    mapping = scale_mapping(make_resource({"type": "object"}, subresources={"scale": scale}).resources[0])
    assert mapping is not None
    assert (mapping.spec_replicas, mapping.status_replicas, mapping.selector) == (("spec", "n"), ("status", "n"), ())
    assert scale_mapping(make_resource({"type": "object"}).resources[0]) is None


def test_conflicting_names_are_not_accepted() -> None:
    """The first definition gets a name; the other one has a condition that names the conflict, and is not served."""
    whole = definition({"type": "object"})
    free = decide_names(whole, taken_by([]), ORCH, now="T")
    assert free["acceptedNames"]["kind"] == "Thing" and condition({"status": free}, "Established") == "True"
    other = {"plural": "others", "singular": "other", "kind": "Other", "listKind": "ThingList", "shortNames": ["th"]}
    refused = decide_names(whole, taken_by([other]), ORCH, now="T")
    (accepted, established) = refused["conditions"]
    assert (accepted["status"], accepted["reason"]) == ("False", "ListKindConflict")
    assert accepted["message"] == '"ThingList" is already in use'
    assert (established["status"], established["reason"]) == ("False", "NotAccepted")
    assert "listKind" not in refused["acceptedNames"] and "shortNames" not in refused["acceptedNames"]


@pytest.mark.parametrize(
    ("taken", "reason", "message"),
    [
        ({"plural": "things"}, "PluralConflict", '"things" is already in use'),
        ({"plural": "things", "shortNames": ["th"]}, "ShortNamesConflict", '"th" is already in use'),
        ({"shortNames": ["th"], "kind": "Thing"}, "KindConflict", '"Thing" is already in use'),
        ({"plural": "things", "singular": "thing"}, "SingularConflict", '"thing" is already in use'),
    ],
)
def test_condition_names_the_last_conflict(taken: dict[str, Any], reason: str, message: str) -> None:
    """Names are compared in the order plural, singular, short names, kind, list kind; the last conflict is reported."""
    other = {"plural": "others", "kind": "Other", **taken}
    status = decide_names(definition({"type": "object"}), taken_by([other]), ORCH, now="T")
    accepted = status["conditions"][0]
    assert (accepted["reason"], accepted["message"]) == (reason, message)


@pytest.mark.parametrize(
    ("bundle", "error"),
    [
        (b"", ""),
        (b"abc", "unable to parse bytes as PEM block"),
        (b"-----BEGIN KEY-----\nYWJj\n-----END KEY-----\n", "no valid certificate authority data seen"),
        (b"-----BEGIN CERTIFICATE-----\na: b\n\nYWJj\n-----END CERTIFICATE-----", "no valid certificate authority"),
        (b"-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n", "failed to parse certificate: "),
    ],
)
def test_a_kind_with_an_unusable_conversion_webhook_is_not_established(bundle: bytes, error: str) -> None:
    """From release 1.31 on no certificate of the caBundle being usable keeps a kind from being established."""
    whole = definition({"type": "object"})
    config = {"url": "https://a", "caBundle": b64encode(bundle).decode()}
    whole["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": config}}
    assert authority_error(whole["spec"]).startswith(error) and bool(authority_error(whole["spec"])) == bool(error)
    for release, usable in ((SPECIFICATION, True), (NEWEST, not error)):
        status = decide_names(whole, taken_by([]), ORCH, now="T", release=release)
        assert is_established({"status": status}) is usable
        assert (status["conditions"][1]["reason"] == "InvalidCABundle") is not usable


def test_a_bundle_with_one_certificate_is_usable() -> None:
    """Other blocks of a bundle, and broken certificates in it, are ignored."""
    pem = self_signed("a", names=["a"], now=datetime.now(UTC)).certificate.public_bytes(Encoding.PEM)
    broken = b"-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"
    assert ca_bundle_error(broken + pem) == ""


def test_an_established_kind_keeps_its_names() -> None:
    """A later conflict does not remove accepted names, and accepting names twice changes nothing."""
    whole = definition({"type": "object"})
    whole["status"] = decide_names(whole, taken_by([]), ORCH, now="T")
    assert decide_names(whole, taken_by([]), ORCH, now="U") == whole["status"]
    twice = decide_names(whole, taken_by([whole["status"]["acceptedNames"]]), ORCH, now="U")
    assert condition({"status": twice}, "NamesAccepted") == "True"
    whole["spec"]["names"] = {**whole["spec"]["names"], "shortNames": ["th", "tg"]}
    later = decide_names(whole, taken_by([{"plural": "tg", "kind": "Tg"}]), ORCH, now="U")
    assert condition({"status": later}, "Established") == "True"
    assert condition({"status": later}, "NamesAccepted") == "False"
    assert later["acceptedNames"]["shortNames"] == ["th"]


def test_protected_group_has_an_approval_condition() -> None:
    """A definition in a protected API group has a condition about its approval."""
    whole = definition({"type": "object"})
    whole["spec"]["group"] = ORCH("things.{abbr}.io")
    type_ = ORCH("{Long}APIApprovalPolicyConformant")
    assert condition({"status": decide_names(whole, taken_by([]), ORCH, now="T")}, type_) == "False"
    whole["metadata"]["annotations"] = {ORCH("api-approved.{long}.io"): "https://example.com/1"}
    assert condition({"status": decide_names(whole, taken_by([]), ORCH, now="T")}, type_) == "True"


def test_transition_time_changes_with_the_status_only() -> None:
    """lastTransitionTime changes only when the condition's status changes."""
    status = with_condition({}, "A", "True", "R", "m", now="1")
    assert with_condition(status, "A", "True", "S", "n", now="2")["conditions"][0]["lastTransitionTime"] == "1"
    assert with_condition(status, "A", "False", "S", "n", now="2")["conditions"][0]["lastTransitionTime"] == "2"


def test_reading_documents_caches_no_schemas() -> None:
    """OpenAPI and discovery documents read the types of unused kinds without caching them."""
    type_ = make_resource(obj({"spec": obj({"a": {"type": "string"}})})).resources[0].type
    looked_at = type_.uncached()
    assert looked_at is not type_ and "spec" in looked_at.fields and type_.members_ is None
    assert "spec" in type_.fields and type_.uncached() is type_


class _Counted(str):
    """A name that counts comparisons."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        _Counted.comparisons += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_thousands_of_short_names_are_not_compared_with_each_other() -> None:
    """Names that were accepted are compared with those that are requested."""
    whole = definition()
    whole["spec"]["names"]["shortNames"] = [_Counted(f"s{n}") for n in range(500)]
    whole["status"] = {"acceptedNames": {"shortNames": [_Counted(f"s{n}") for n in range(500)]}}
    status = decide_names(whole, taken_by([]), ORCH, now="2026-01-01T00:00:00Z")
    assert len(status["acceptedNames"]["shortNames"]) == 500 and _Counted.comparisons < 5000


def test_thousands_of_versions_share_their_names_and_replacement() -> None:
    """Versions are not compared with each other, and the names of the kind are not copied for each."""
    first, *others = make_resource(*[{"type": "object"}] * 300).resources
    assert all(each.short_names is first.short_names and each.categories is first.categories for each in others)

    def work(count: int) -> int:
        whole = definition(*[{"type": "object"}] * count, deprecated=True)
        return lines(lambda: custom_kind(whole, lambda: whole, CATALOG.types, ORCH))

    assert work(400) < 2.5 * work(200)


def test_kept_rules_are_bounded_by_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of schemas count with what their types take, which is several times their text."""
    kept = rules._Kept()
    monkeypatch.setattr(rules, "_KEPT", kept)
    monkeypatch.setattr(rules, "_MOST_BYTES", 1 << 20)
    schemas = [
        obj({f"p{n}": {"type": "string"} for n in range(200 + extra)}, **{ORCH(rules.VALIDATIONS): [{"rule": "true"}]})
        for extra in range(60)
    ]
    used, *unused = (rules.compile_rules(schema, ORCH, resource=False) for schema in schemas)
    assert 10 < len(kept._sets) < 30
    assert rules.compile_rules(schemas[-1], ORCH, resource=False) is unused[-1]
    # Sets in use are shared, however many others have been made; others are freed at once, not by a collection.
    assert rules.compile_rules(schemas[0], ORCH, resource=False) is used
    count = len(kept._used)
    unused.clear()
    assert count == 60 and len(kept._used) == len(kept._sets) + 1


def test_rules_of_a_schema_are_shared_whatever_the_order_of_its_members() -> None:
    """Definitions are validated, and their objects checked, with members in different orders."""
    schema = obj(
        {"b": {"type": "string"}, "a": {"type": "string"}}, **{ORCH(rules.VALIDATIONS): [{"rule": "self.a != self.b"}]}
    )
    other = dict(reversed(schema.items())) | {"properties": dict(reversed(schema["properties"].items()))}
    assert list(other) != list(schema)
    assert rules.compile_rules(schema, ORCH, resource=False) is rules.compile_rules(other, ORCH, resource=False)
