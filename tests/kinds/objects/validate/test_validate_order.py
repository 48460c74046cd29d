"""The order of causes, repeated causes, and messages for malformed texts."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.cel.libraries.urls import lenient_url_failure
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gotext.json_errors import json_error
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from orchd.kinds.objects.validate.der import der_error

SETTINGS = ObjectSettings(dialect=ORCH)
CATALOG = builtin_catalog(ORCH)
Object = dict[str, Any]


def causes(group: str, version: str, plural: str, obj: Object, old: Object | None = None) -> list[str]:
    """``field: reason`` of every error of a new or changed object."""
    resource = CATALOG.resource(ORCH(group), version, plural)
    assert resource is not None
    metadata = {"name": "a", **({"namespace": "b"} if resource.namespaced else {}), **obj.pop("metadata", {})}
    obj = {"metadata": metadata, **obj}
    if old is None:
        causes = dispatch.validate_create(obj, resource, SETTINGS)
    else:
        causes = dispatch.validate_update(obj, {"metadata": metadata, **old}, resource, SETTINGS)
    return [f"{cause.field}: {cause.reason.removeprefix('FieldValue')}" for cause in causes]


def test_topologies_are_compared_with_an_empty_one_per_term() -> None:
    """A term without requirements duplicates each of the empty maps that the comparison starts with, and each earlier
    empty term."""
    terms = [{"matchLabelExpressions": [{"key": "a", "values": []}]}, {}, {}]
    assert causes(
        "storage.{abbr}.io",
        "v1",
        "storageclasses",
        {"provisioner": "x", "volumeBindingMode": "Immediate", "allowedTopologies": terms},
    ) == [
        "allowedTopologies[0].matchLabelExpressions[0].values: Required",
        *["allowedTopologies[1].matchLabelExpressions: Duplicate"] * 3,
        *["allowedTopologies[2].matchLabelExpressions: Duplicate"] * 4,
    ]


def test_attacher_name_is_checked_last() -> None:
    """The rule that only the stable version has comes last, on create alone."""
    head = ["spec.attacher: Required", "spec.source: Required", "spec.nodeName: Invalid"]
    api = ("storage.{abbr}.io", "v1", "volumeattachments")
    assert causes(*api, {"spec": {}}) == [*head, "spec.attacher: Required", "spec.attacher: Invalid"]
    assert causes(*api, {"spec": {}}, {"spec": {}}) == head * 2


@pytest.mark.parametrize("plural", ["roles", "clusterroles"])
def test_changed_roles_are_validated_twice(plural: str) -> None:
    api = ("rbac.authorization.{abbr}.io", "v1", plural)
    bad = ["rules[0].apiGroups: Required", "rules[0].resources: Required"]
    assert causes(*api, {"rules": [{"verbs": ["get"]}]}) == bad
    assert causes(*api, {"rules": [{"verbs": ["get"]}]}, {"rules": None}) == bad * 2


def test_metadata_is_validated_before_and_with_a_change() -> None:
    """Labels of a config map are validated by the rules of all objects, of all updates, and twice by the kind's own."""
    assert causes("", "v1", "configmaps", {"metadata": {"labels": {"$": ""}}}, {}) == ["metadata.labels: Invalid"] * 4


def test_fixed_specs_are_compared_last() -> None:
    spec = {"type": "Limited", "limited": {"assuredConcurrencyShares": 1, "limitResponse": {"type": ""}}}
    assert causes(
        "flowcontrol.apiserver.{abbr}.io",
        "v1beta2",
        "prioritylevelconfigurations",
        {"metadata": {"name": "exempt"}, "spec": spec},
    ) == ["spec.type: Invalid", "spec.limited.limitResponse.type: NotSupported", "spec: Invalid"]


def test_signing_requests_name_usages_before_the_signer() -> None:
    assert causes(
        "certificates.{abbr}.io",
        "v1",
        "certificatesigningrequests",
        {"spec": {"usages": ["x", "x", "any"], "signerName": "x"}},
    ) == [
        "spec.request: Invalid",
        "spec.usages[0]: NotSupported",
        "spec.usages[1]: NotSupported",
        "spec.usages[1]: Duplicate",
        "spec.signerName: Invalid",
    ]


def test_lonely_access_mode_is_known_by_its_company() -> None:
    spec = {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "resources": {"requests": {"storage": "1"}}}
    assert causes("", "v1", "persistentvolumeclaims", {"spec": spec}) == [
        "spec.accessModes: NotSupported",
        "spec.accessModes: Forbidden",
    ]


@pytest.mark.parametrize(("version", "member"), [("v1", "deprecatedTopology"), ("v1beta1", "topology")])
def test_topology_is_named_as_the_stable_version_has_it(version: str, member: str) -> None:
    endpoint = {"addresses": ["1.1.1.1"], member: {"bad key!": "x"}}
    body = {"addressType": "IPv4", "endpoints": [endpoint]}
    assert causes("discovery.{abbr}.io", version, "endpointslices", body) == [
        "endpoints[0].deprecatedTopology: Invalid"
    ]


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "asn1: syntax error: sequence truncated"),
        (b"\x30\x80", "asn1: syntax error: indefinite length found (not DER)"),
        (b"\x30\x81\x01\x00", "asn1: structure error: non-minimal length"),
        (b"\x30\x05\x00", "asn1: syntax error: data truncated"),
        (b"\x30", "asn1: syntax error: truncated tag or length"),
        (b"garbage" * 20, "asn1: structure error: tags don't match (16 vs {class:1 tag:7 length:97 isCompound:true})"),
    ],
)
def test_invalid_der_errors(data: bytes, wrong: str) -> None:
    assert der_error(data, "certificateRequest").startswith(wrong)


def test_trailing_der_bytes() -> None:
    """The frame of a request, then the same with a trailing byte."""
    algorithm = bytes.fromhex("3003060103")
    key = b"\x30\x08" + algorithm + b"\x03\x01\x00"
    body = b"\x02\x01\x00\x30\x00" + key
    rest = algorithm + b"\x03\x01\x00"
    inner = b"\x30" + bytes([len(body)]) + body + rest
    whole = b"\x30" + bytes([len(inner)]) + inner
    assert der_error(whole, "certificateRequest") == ""
    assert der_error(whole + b"\0", "certificateRequest") == "asn1: syntax error: trailing data"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("https://a.example:443/x%20y?z#f", ""),
        ("https://exa mple:port/%zz", 'parse "https://exa mple:port/%zz": invalid port ":port" after host'),
        ("https://exa mple/", 'parse "https://exa mple/": invalid character " " in host name'),
        ("https://a/%zz", 'parse "https://a/%zz": invalid URL escape "%zz"'),
        ("https://[::1/", "parse \"https://[::1/\": missing ']' in host"),
        ("://a", 'parse "://a": missing protocol scheme'),
        ("1.2.3.4:80/x", 'parse "1.2.3.4:80/x": first path segment in URL cannot contain colon'),
        ("https://a/\n", 'parse "https://a/\\n": net/url: invalid control character in URL'),
        ("https://a/x#%zz", 'parse "https://a/x#%zz": invalid URL escape "%zz"'),
        ("https://[host]/", ""),
        ("https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'),
        ("/just/a/path", ""),
        ("mailto:x", ""),
    ],
)
def test_invalid_url_errors(text: str, wrong: str) -> None:
    assert (lenient_url_failure(text) or "") == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"{}", ""),
        (b" null ", ""),
        (b"not", "invalid character 'o' in literal null (expecting 'u')"),
        (b"", "unexpected end of JSON input"),
        (b"[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"-1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ],
)
def test_invalid_json_errors(text: bytes, wrong: str) -> None:
    assert json_error(text) == wrong
