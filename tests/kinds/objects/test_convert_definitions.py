"""Conversion of CustomResourceDefinitions between v1beta1 and v1."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.convert import convert
from orchd.kinds.objects.default import apply
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.shape import canonical

CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
SETTINGS = ObjectSettings(dialect=ORCH)
GROUP = ORCH("apiextensions.{abbr}.io")
V1, V1BETA1 = f"{GROUP}/v1", f"{GROUP}/v1beta1"

SCHEMA = {"openAPIV3Schema": {"type": "object"}}
OTHER = {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}}


def whole(api_version: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A definition after decoding and defaulting."""
    obj = {
        "apiVersion": api_version, "kind": "CustomResourceDefinition", "metadata": {"name": "xs.ex.com"},
        "spec": {"group": "ex.com", "scope": "Cluster", "names": {"plural": "xs", "kind": "X"}, **spec},
    }  # fmt: skip
    resource = CATALOG.kind(api_version, "CustomResourceDefinition")
    assert resource is not None
    return apply(canonical(obj, resource.type), resource, SETTINGS)


def version(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": name == "v1", **more}


def test_single_version_fields_are_moved() -> None:
    """v1beta1 has a field for a single version, and top-level fields that apply to all versions."""
    column = {"name": "A", "type": "string", "JSONPath": ".a"}
    spec = {"version": "v1", "validation": SCHEMA, "subresources": {"status": {}}, "additionalPrinterColumns": [column]}
    spec_v1 = convert(whole(V1BETA1, spec), V1, CATALOG)["spec"]
    columns = [{"name": "A", "type": "string", "jsonPath": ".a"}]
    assert spec_v1["versions"] == [
        version("v1", schema=SCHEMA, subresources={"status": {}}, additionalPrinterColumns=columns)
    ]
    assert spec_v1["preserveUnknownFields"] is True and "version" not in spec_v1
    back = convert(whole(V1, {"versions": spec_v1["versions"]}), V1BETA1, CATALOG)["spec"]
    assert (back["version"], back["validation"], back["additionalPrinterColumns"]) == ("v1", SCHEMA, [column])
    assert back["versions"] == [version("v1")] and back["preserveUnknownFields"] is False


def test_conversion_webhook_fields_are_moved() -> None:
    """v1beta1 has the webhook's fields next to the strategy, and defaults the versions of reviews."""
    config = {"url": "https://example.com/convert"}
    spec = {"version": "v1", "conversion": {"strategy": "Webhook", "webhookClientConfig": config}}
    definition = convert(whole(V1BETA1, spec), V1, CATALOG)
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1beta1"]}
    assert definition["spec"]["conversion"] == {"strategy": "Webhook", "webhook": webhook}
    assert convert(definition, V1BETA1, CATALOG)["spec"]["conversion"] == {
        "strategy": "Webhook", "webhookClientConfig": config, "conversionReviewVersions": ["v1beta1"],
    }  # fmt: skip


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"validation": SCHEMA, "versions": [version("v1", schema=OTHER)]},
        "spec.validation: Forbidden: top-level and per-version schemas are mutually exclusive",
    ),
    (
        {"versions": [version("v1", subresources={"status": {}}), version("v2", subresources={"status": {}})]},
        "per-version subresources may not all be set to identical values (top-level subresources should be used instead)",
    ),
    (
        {"version": "v2", "versions": [version("v1")]},
        'spec.version: Invalid value: "v2": must match the first version in spec.versions',
    ),
]


@pytest.mark.parametrize(("spec", "message"), CONTRADICTIONS)
def test_ambiguous_definitions_are_refused(spec: dict[str, Any], message: str) -> None:
    """A field that is set both per version and at the top level is rejected as ambiguous."""
    with pytest.raises(ApiError) as caught:
        convert(whole(V1BETA1, spec), V1, CATALOG)
    assert caught.value.code == 422 and message in caught.value.message


SCHEMAS = st.sampled_from([SCHEMA, OTHER])
SUBRESOURCES = st.sampled_from(
    [{"status": {}}, {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}]
)
COLUMNS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("AB"), "type": st.just("string"), "jsonPath": st.just(".a")}),
    min_size=1,
    max_size=2,
)
VERSION = st.fixed_dictionaries(
    {}, optional={"schema": SCHEMAS, "subresources": SUBRESOURCES, "additionalPrinterColumns": COLUMNS}
)
CONVERSION = st.sampled_from([
    {"strategy": "None"},
    {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]}},
    {"strategy": "Webhook", "webhook": {"clientConfig": None, "conversionReviewVersions": ["v1"]}},
])  # fmt: skip


@given(st.lists(VERSION, min_size=1, max_size=3), CONVERSION, st.booleans())
def test_definition_conversion_is_lossless(
    versions: list[dict[str, Any]], conversion: dict[str, Any], preserve: bool
) -> None:
    """Definitions of v1 and of v1beta1 are unchanged after conversion to the other version and back."""
    listed = [version(f"v{i + 1}", **each) for i, each in enumerate(versions)]
    obj = whole(V1, {"versions": listed, "conversion": conversion, "preserveUnknownFields": preserve})
    there = convert(obj, V1BETA1, CATALOG)
    back = convert(there, V1, CATALOG)
    assert back == obj
    assert convert(back, V1BETA1, CATALOG) == there
