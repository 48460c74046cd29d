"""Aggregated discovery: items of one document, in order of priority, encoded once per resource."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.openapi.aggregated import (
    STALE,
    AggregatedDiscovery,
    ForeignVersion,
    document,
    from_resource_list,
    resource_discovery,
)
from orchd.kinds.rows import Subresource

PRIORITIES = {("apps", "v1"): (17800, 15), ("batch", "v1"): (17400, 15), ("batch", "v1beta1"): (17400, 9)}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builtin_catalog(KUBERNETES)


def custom(catalog: Catalog, group: str, *versions: str) -> list[Resource]:
    """Custom resources with a scale subresource, on the type of a config map."""
    resource = catalog.resource("", "v1", "configmaps")
    assert resource is not None
    scale = Subresource(name="scale", kind="Scale", verbs=("get", "update"), group="autoscaling", version="v1")
    status = Subresource(name="status", kind="Foo", verbs=("get", "update"))
    return [
        Resource(
            group=group, version=version, kind="Foo", plural="foos", singular="foo", type=resource.type, namespaced=False,
            short_names=("f",), categories=("all",), custom=True, subresources={"status": status, "scale": scale},
        )
        for version in versions
    ]  # fmt: skip


def foreign(group: str, version: str, priority: int, **more: Any) -> ForeignVersion:
    given = {"version_priority": 100, "resources": b"", "freshness": STALE, **more}
    return ForeignVersion(group=group, version=version, group_priority=priority, **given)


def names(items: bytes) -> list[tuple[str, list[str]]]:
    return [
        (item["metadata"].get("name", ""), [version["version"] for version in item["versions"]])
        for item in orjson.loads(items)
    ]


def test_entries_of_builtin_resources(catalog: Catalog) -> None:
    """Resources omit their own group and version; subresources are sorted by name."""
    resource = catalog.resource("apps", "v1", "deployments")
    assert resource is not None
    entry = resource_discovery(resource)
    assert entry["resource"] == "deployments" and entry["singularResource"] == "deployment"
    assert entry["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    assert entry["scope"] == "Namespaced" and entry["shortNames"] == ["deploy"] and entry["categories"] == ["all"]
    assert [(sub["subresource"], sub["responseKind"]) for sub in entry["subresources"]] == [
        ("scale", {"group": "autoscaling", "version": "v1", "kind": "Scale"}),
        ("status", {"group": "", "version": "", "kind": "Deployment"}),
    ]


def test_entries_of_custom_resources(catalog: Catalog) -> None:
    """Custom kinds have their group and version, and subresources in the order of the definition."""
    (entry,) = map(resource_discovery, custom(catalog, "example.com", "v1"))
    assert (
        entry["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Foo"}
        and entry["scope"] == "Cluster"
    )
    assert [sub["subresource"] for sub in entry["subresources"]] == ["status", "scale"]
    assert entry["subresources"][0]["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Foo"}


def test_core_group_is_listed_under_api_only(catalog: Catalog) -> None:
    """``/api`` lists only the core group; ``/apis`` does not list it."""
    discovery = AggregatedDiscovery(PRIORITIES)
    assert names(discovery.items(catalog, core=True)) == [("", ["v1"])]
    assert "" not in dict(names(discovery.items(catalog)))


def test_groups_and_versions_are_sorted_by_priority(catalog: Catalog) -> None:
    """Groups are sorted by the priority of their versions, then by name, and versions likewise; aggregated ones in
    between."""
    everything = catalog.adding([*custom(catalog, "b.com", "v1alpha1", "v2"), *custom(catalog, "a.com", "v1")])
    others = (foreign("c.com", "v1", 17500), foreign("batch", "v2", 1, version_priority=12))
    listed = names(AggregatedDiscovery(PRIORITIES).items(everything, others))
    order = [name for name, _ in listed]
    assert order[:3] == ["apps", "c.com", "batch"] and order.index("a.com") < order.index("b.com")
    assert dict(listed)["b.com"] == ["v2", "v1alpha1"] and dict(listed)["batch"] == ["v1", "v2", "v1beta1"]


def test_aggregated_version_replaces_a_local_one(catalog: Catalog) -> None:
    """An aggregated version replaces a local one of the same name, since requests are proxied."""
    everything = catalog.adding(custom(catalog, "a.com", "v1"))
    resources = orjson.dumps({"resource": "bars"})
    items = orjson.loads(AggregatedDiscovery({}).items(everything, (foreign("a.com", "v1", 5, resources=resources),)))
    (versions,) = [item["versions"] for item in items if item["metadata"]["name"] == "a.com"]
    assert versions == [{"version": "v1", "resources": [{"resource": "bars"}], "freshness": STALE}]


def test_later_resources_are_listed_here_only(catalog: Catalog) -> None:
    """Only the aggregated document lists resources of later releases."""
    items = orjson.loads(AggregatedDiscovery({}).items(catalog))
    (versions,) = [item["versions"] for item in items if item["metadata"]["name"] == "authentication.k8s.io"]
    listed = {version["version"]: [each["resource"] for each in version["resources"]] for version in versions}
    assert listed["v1"] == ["selfsubjectreviews", "tokenreviews"] and listed["v1beta1"] == ["selfsubjectreviews"]


def test_entries_are_encoded_once(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new definition encodes only its own resources; entries of deleted resources are dropped."""
    discovery = AggregatedDiscovery({})
    before = catalog.adding(custom(catalog, "a.com", "v1"))
    discovery.items(before)
    encoded: list[str] = []

    def counting(resource: Resource) -> Any:
        encoded.append(resource.group)
        return resource_discovery(resource)

    monkeypatch.setattr("orchd.kinds.openapi.aggregated.resource_discovery", counting)
    discovery.items(before.adding(custom(catalog, "b.com", "v1"), without=lambda r: r.group == "a.com"))
    assert encoded == ["b.com"]
    discovery.items(before)
    assert encoded == ["b.com", "a.com"]


def test_list_has_the_requested_version() -> None:
    """The list and its items have the requested version."""
    assert orjson.loads(document(b"[]", "g/v2")) == {
        "kind": "APIGroupDiscoveryList", "apiVersion": "g/v2", "metadata": {}, "items": [],
    }  # fmt: skip


def test_entries_from_unaggregated_lists() -> None:
    """Subresources are nested under their resource, which is created if it is not listed."""
    verbs = ["get"]
    listed = [
        {"name": "foos/status", "namespaced": True, "kind": "Foo", "verbs": verbs},
        {"name": "foos", "singularName": "foo", "namespaced": True, "kind": "Foo", "verbs": verbs, "shortNames": ["f"]},
        {"name": "bars/log", "namespaced": False, "kind": "", "verbs": verbs},
    ]
    kind = {"group": "", "version": "", "kind": "Foo"}
    nothing = dict.fromkeys(kind, "")
    assert from_resource_list(listed) == [
        {
            "resource": "foos", "responseKind": kind, "scope": "Namespaced", "singularResource": "foo", "verbs": verbs,
            "shortNames": ["f"], "subresources": [{"subresource": "status", "responseKind": kind, "verbs": verbs}],
        },
        {
            "resource": "bars", "responseKind": nothing, "scope": "Cluster",
            "subresources": [{"subresource": "log", "responseKind": nothing, "verbs": verbs}],
        },
    ]  # fmt: skip
    with pytest.raises(ValueError, match="differ in scope"):
        from_resource_list([listed[1], {**listed[0], "namespaced": False}])


def test_changed_resource_is_encoded_again(catalog: Catalog) -> None:
    """A changed resource is a new value, so that its cached text is not used."""
    discovery = AggregatedDiscovery({})
    (first,) = custom(catalog, "a.com", "v1")
    discovery.items(catalog.adding([first]))
    items = discovery.items(catalog.adding([replace(first, short_names=("other",))]))
    assert b'"other"' in items and b'["f"]' not in items
