"""Matching of webhooks with requests."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.admission.interfaces import Review
from orchd.server.admission.selection import objects_match
from orchd.server.admission.webhooks.matching import calls_for, fits, hooks_of

CATALOG = builtin_catalog(ORCH)


def resource_of(plural: str, group: str = "", version: str = "v1", catalog: Catalog = CATALOG) -> Resource:
    resource = catalog.resource(group, version, plural)
    assert resource is not None, plural
    return resource


PODS = resource_of("pods")
NODES = resource_of("nodes")
NAMESPACES = resource_of("namespaces")


def rule(**changes: Any) -> Object:
    plain = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return {**plain, **changes}


def configuration(name: str, *hooks: Any) -> Object:
    return {"metadata": {"name": name}, "webhooks": [{"name": "h.example.com", **hook} for hook in hooks]}


@pytest.mark.parametrize(
    ("resources", "subresource", "expected"),
    [
        (["pods"], "", True),
        (["pods"], "status", False),
        (["*"], "", True),
        (["*"], "status", False),
        (["*/*"], "status", True),
        (["pods/*"], "status", True),
        (["pods/*"], "", True),
        (["*/status"], "status", True),
        (["*/scale"], "status", False),
        (["nodes", "pods/status"], "status", True),
    ],
)
def test_rules_match_resources_and_subresources(resources: list[str], subresource: str, expected: bool) -> None:
    """A star matches any resource; subresources are named or matched by their own star."""
    assert fits(rule(resources=resources), "CREATE", PODS, subresource, namespaced=True) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"operations": ["*"]}, True),
        ({"operations": ["UPDATE", "DELETE"]}, False),
        ({"apiGroups": ["*"]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"apiVersions": ["v1beta1"]}, False),
        ({"apiVersions": ["*"]}, True),
    ],
)
def test_rules_match_operation_group_and_version(changes: Object, expected: bool) -> None:
    """Operation, group and version must all match."""
    assert fits(rule(**changes), "CREATE", PODS, "", namespaced=True) is expected


@pytest.mark.parametrize(
    ("scope", "resource", "expected"),
    [
        ("Cluster", NODES, True),
        ("Cluster", PODS, False),
        ("Namespaced", PODS, True),
        ("Namespaced", NODES, False),
        ("Cluster", NAMESPACES, True),
        ("Namespaced", NAMESPACES, False),
        ("*", NODES, True),
    ],
)
def test_rules_match_the_scope(scope: str, resource: Resource, expected: bool) -> None:
    """Namespaces count as cluster-scoped objects."""
    found = fits(rule(resources=["*"], scope=scope), "CREATE", resource, "", namespaced=resource.namespaced)
    assert found is expected


def test_webhooks_are_in_the_order_of_their_configuration() -> None:
    """Webhooks have the order of their configuration."""
    hooks = hooks_of(configuration("a", {"name": "z.example.com"}, {"name": "y.example.com"}))
    assert [(h.configuration, h.name) for h in hooks] == [("a", "z.example.com"), ("a", "y.example.com")]


def test_equivalent_versions_match() -> None:
    """A rule for another version of the same objects matches, unless the policy is Exact; objects are then sent in that
    version."""
    scaler = resource_of("horizontalpodautoscalers", "autoscaling", "v2")
    rules = [rule(apiGroups=["autoscaling"], apiVersions=["v1"], resources=["horizontalpodautoscalers"])]
    hooks = hooks_of(configuration("a", {"rules": rules}, {"rules": rules, "matchPolicy": "Exact"}))
    calls = calls_for(hooks, "CREATE", scaler, "", namespaced=True, catalog=CATALOG)
    assert [(call.hook.position, call.resource.version) for call in calls] == [(0, "v1")]


def test_storage_version_is_the_first_of_equivalent_ones() -> None:
    """Of several versions that a rule names, the storage version is sent, else the first in discovery."""
    asked = resource_of("horizontalpodautoscalers", "autoscaling", "v2beta1")
    for versions, sent in ((["v2", "v1", "v2beta2"], "v1"), (["v2beta2", "v2"], "v2")):
        rules = [rule(apiGroups=["autoscaling"], apiVersions=versions, resources=["horizontalpodautoscalers"])]
        calls = calls_for(
            hooks_of(configuration("a", {"rules": rules})), "CREATE", asked, "", namespaced=True, catalog=CATALOG
        )
        assert [call.resource.version for call in calls] == [sent]


def test_equivalent_versions_of_custom_kinds() -> None:
    """A rule for other versions selects the first of them in the definition, whatever their priority."""
    names = ("v1alpha1", "v1", "v2")
    versions = [
        {"name": n, "served": True, "storage": n == "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}
        for n in names
    ]
    spec = {
        "group": "example.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Namespaced",
        "versions": versions,
    }
    definition = {"metadata": {"name": "foos.example.com"}, "spec": spec}
    kind = custom_kind(definition, lambda: definition, CATALOG.types, ORCH)
    catalog = CATALOG.adding(reversed(kind.resources))
    rules = [rule(apiGroups=["example.com"], apiVersions=["v1", "v1alpha1"], resources=["foos"])]
    asked = resource_of("foos", "example.com", "v2", catalog)
    calls = calls_for(
        hooks_of(configuration("a", {"rules": rules})), "CREATE", asked, "", namespaced=True, catalog=catalog
    )
    assert [call.resource.version for call in calls] == ["v1alpha1"]


def test_object_selector_matches_old_or_new_object() -> None:
    """It suffices that the selector matches the old or the new object."""
    (hook,) = hooks_of(configuration("a", {"objectSelector": {"matchLabels": {"a": "b"}}}))

    def chosen(obj: Object | None, old: Object | None) -> bool:
        review = Review(
            operation="UPDATE", resource=PODS, namespace="ns", name="p", user=User(name="u"), object=obj, old_object=old
        )
        return objects_match(hook.objects, review)

    with_label: Object = {"metadata": {"labels": {"a": "b"}}}
    without: Object = {"metadata": {}}
    assert chosen(with_label, without)
    assert chosen(without, with_label)
    assert not chosen(without, without)
    assert not chosen(None, None)


def test_webhooks_without_settings() -> None:
    """What a configuration does not say has the default of its kind."""
    (hook,) = hooks_of({"metadata": {"name": "c"}, "webhooks": [{"name": "h"}]})
    assert (hook.seconds, hook.exact, hook.ignores_failure, hook.reinvoked) == (10.0, False, False, False)
    assert (hook.side_effects, hook.versions, hook.conditions, hook.rules, hook.where) == ("", (), (), (), {})
    assert hooks_of({"metadata": {"name": "c"}}) == []
