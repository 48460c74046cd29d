"""The catalog: look-up, added and removed resources, order of versions, runtime configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog, group_version, split_group_version, version_priority
from orchd.kinds.rows import Deprecation


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return builtin_catalog(ORCH)


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=lambda d: d.name)
def test_builtin_tables_are_consistent(dialect: Dialect) -> None:
    """Every resource is of a served group and version, under one plural and one kind; a stored one has a type, and all
    its versions share the store key and the storage version."""
    catalog = builtin_catalog(dialect)
    assert len({(r.group, r.version, r.plural) for r in catalog.resources}) == len(catalog.resources)
    kept: dict[str, str] = {}
    for resource in catalog.resources:
        group = catalog.group(resource.group)
        assert group is not None and resource.version in group.versions and group.preferred in group.versions
        assert catalog.resource(resource.group, resource.version, resource.plural) is resource
        assert "metadata" in catalog.storage_type(resource).fields or not resource.stored
        assert resource.stored is bool(resource.storage_version)
        if resource.stored:
            assert kept.setdefault(resource.key, resource.storage_version) == resource.storage_version
            assert resource in catalog.versions_of(resource)


def test_lookup_by_path_kind_and_version(catalog: Catalog) -> None:
    """Look-up by path, by kind, and by group and version; None for what is not served."""
    resource = catalog.resource("apps", "v1", "deployments")
    assert resource is not None and resource is catalog.kind("apps/v1", "Deployment")
    assert resource in catalog.in_version("apps", "v1") and resource.list_kind == "DeploymentList"
    assert catalog.resource("apps", "v9", "deployments") is None and catalog.kind("v1", "Deployment") is None
    assert catalog.group("none") is None


@pytest.mark.parametrize(("group", "version", "text"), [("", "v1", "v1"), ("apps", "v1", "apps/v1")])
def test_api_version_text(group: str, version: str, text: str) -> None:
    """The core group has no name in apiVersion."""
    assert group_version(group, version) == text and split_group_version(text) == (group, version)


def test_version_priority_order() -> None:
    """Stable before beta before alpha, newer first, then other names alphabetically."""
    order = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "foo1",
        "foo10",
        "v1beta",
        "vx",
    ]
    assert sorted(set(order), key=version_priority) == order


def test_storage_version_hash(catalog: Catalog) -> None:
    """The hash that discovery shows has eight bytes and is the same for every served version."""
    first, second = (catalog.resource("autoscaling", v, "horizontalpodautoscalers") for v in ("v1", "v2"))
    assert first is not None and second is not None
    assert first.storage_version_hash == second.storage_version_hash and len(first.storage_version_hash) == 12


def wheel(catalog: Catalog, version: str, group: str = "cars.example", plural: str = "wheels") -> Resource:
    some = catalog.resource("", "v1", "configmaps")
    assert some is not None
    return replace(
        some, group=group, version=version, plural=plural, kind="Wheel", custom=True, key=f"{group}/{plural}"
    )


class TestAdding:
    def test_custom_group_is_served_while_it_has_resources(self, catalog: Catalog) -> None:
        """A custom group is served as long as it has resources; the old catalog does not change."""
        more = catalog.adding([wheel(catalog, "v1alpha1"), wheel(catalog, "v1"), wheel(catalog, "v1beta1")])
        group = more.group("cars.example")
        assert group is not None and group.versions == ("v1", "v1beta1", "v1alpha1") and group.preferred == "v1"
        assert more.groups[-1] is group and catalog.group("cars.example") is None
        less = more.adding((), without=lambda r: r.custom and r.version == "v1")
        group = less.group("cars.example")
        assert group is not None and group.preferred == "v1beta1"
        none = less.adding((), without=lambda r: r.custom)
        assert none.group("cars.example") is None and [g.name for g in none.groups] == [g.name for g in catalog.groups]

    def test_versions_without_resources_are_not_served(self, catalog: Catalog) -> None:
        """A version without resources is not listed, nor a group without versions."""
        without = catalog.adding(
            (), without=lambda r: (r.group, r.version) == ("autoscaling", "v1") or r.group == "apps"
        )
        group = without.group("autoscaling")
        assert group is not None and "v1" not in group.versions and group.preferred in group.versions
        assert without.group("apps") is None and without.group("batch") is catalog.group("batch")

    def test_replaced_resource_takes_its_place(self, catalog: Catalog) -> None:
        """A resource replaces one that is dropped in the same step."""
        first = wheel(catalog, "v1")
        extended = catalog.adding([first])
        second = replace(first, singular="wheel")
        again = extended.adding([second], without=lambda r: r is first)
        assert again.resource("cars.example", "v1", "wheels") is second


class TestRuntime:
    def test_disabled_versions_are_not_served(self) -> None:
        """A disabled version is not served, nor a group without versions; the preferred version is a remaining one."""
        catalog = builtin_catalog(
            ORCH,
            enabled=lambda group, version, default: (
                default and (group, version) not in {("autoscaling", "v1"), ("apps", "v1")}
            ),
        )
        assert catalog.group("apps") is None and catalog.resource("apps", "v1", "deployments") is None
        group = catalog.group("autoscaling")
        assert group is not None and group.preferred == "v2"

    def test_versions_off_by_default_can_be_enabled(self) -> None:
        """A version that is off by default can be enabled."""
        usual = builtin_catalog(ORCH)
        everything = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
        assert len(everything.resources) > len(usual.resources)


@pytest.mark.parametrize(
    ("removed", "replacement", "text"),
    [
        ("", "", "g/v1 K is deprecated in v1.21+"),
        ("v1.25", "", "g/v1 K is deprecated in v1.21+, unavailable in v1.25+"),
        ("v1.25", "g/v2", "g/v1 K is deprecated in v1.21+, unavailable in v1.25+; use g/v2 K"),
    ],
)
def test_deprecation_texts(removed: str, replacement: str, text: str) -> None:
    """A warning says since which release a version is deprecated, when it is removed, and the replacement, as far as
    known."""
    assert Deprecation(since="v1.21", removed=removed, replacement=replacement).warning("K", "g/v1") == text
