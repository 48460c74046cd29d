"""Discovery documents against the recorded facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource, builtin_catalog, group_version
from orchd.kinds.ir import Type
from orchd.kinds.openapi import discovery
from orchd.kinds.release import SPECIFICATION
from orchd.kinds.rows import Subresource

Load = Callable[[str], Any]
CATALOG = builtin_catalog(ORCH)


def _custom() -> list[Resource]:
    type_ = Type("struct", members=())
    scale = Subresource(name="scale", kind="Scale", verbs=("get", "patch", "update"), group="autoscaling", version="v1")
    status = Subresource(name="status", kind="Bar", verbs=("get", "patch", "update"))
    common: dict[str, Any] = {"group": "example.com", "version": "v1", "type": type_, "custom": True}
    return [
        Resource(
            kind="Foo",
            plural="foos",
            singular="foo",
            namespaced=True,
            storage_version="example.com/v1",
            key="example.com/foos",
            **common,
        ),
        Resource(
            kind="Bar",
            plural="bars",
            singular="bar",
            namespaced=False,
            storage_version="example.com/v1",
            key="example.com/bars",
            short_names=("br",),
            categories=("all",),
            subresources={"status": status, "scale": scale},
            **common,
        ),
    ]


def test_groups_are_sorted_by_priority(reference: Load) -> None:
    """Groups are sorted by priority, versions by preference."""
    want = []
    for group in reference("resources")["groups"]:
        name = group.get("name", group.get("group"))
        if name and group["default_versions"]:
            want.append((name, [v for v in group["versions"] if v in group["default_versions"]]))
    got = discovery.api_group_list(CATALOG)
    assert [(g["name"], [v["version"] for v in g["versions"]]) for g in got["groups"]] == want
    assert discovery.api_group(CATALOG, "apps") == reference("resources")["facts"]["discovery_group"]
    assert discovery.api_group(CATALOG, "nope") is None
    assert discovery.api_group(CATALOG, "") is None


def test_core_group_document(reference: Load) -> None:
    """The core group has a document of its own kind."""
    want = reference("resources")["facts"]["discovery_api"]
    address = want["serverAddressByClientCIDRs"][0]["serverAddress"]
    assert discovery.api_versions(CATALOG, address) == want


def test_resource_lists_are_the_recorded_ones(reference: Load) -> None:
    """The resource lists have exactly the recorded resources and subresources, in alphabetical order."""
    recorded: dict[str, list[Any]] = {}
    for entry in reference("resources")["resources"]:
        if entry["default_enabled"]:
            recorded.setdefault(group_version(entry["group"], entry["version"]), []).append(entry)
    for group in CATALOG.groups:
        for version in group.versions:
            document = discovery.api_resource_list(CATALOG, group.name, version)
            assert document is not None
            by_name = {r["name"]: r for r in document["resources"]}
            assert list(by_name) == sorted(by_name)
            want = set()
            for entry in recorded[group_version(group.name, version)]:
                got = by_name[entry["plural"]]
                want.add(entry["plural"])
                assert (got["kind"], got["namespaced"], got["verbs"]) == (
                    entry["kind"],
                    entry["namespaced"],
                    sorted(entry["verbs"]),
                )
                assert got.get("shortNames", []) == entry["shortNames"]
                assert got.get("categories", []) == entry["categories"]
                assert got.get("storageVersionHash") == entry.get("storageVersionHash")
                for sub in entry.get("subresources", ()):
                    name = f"{entry['plural']}/{sub['name']}"
                    want.add(name)
                    assert (by_name[name]["kind"], by_name[name]["verbs"]) == (sub["kind"], sorted(sub["verbs"]))
            assert set(by_name) == want


def test_custom_resource_list_entries(reference: Load) -> None:
    """Custom kinds have their own order of verbs, a singular name, and the version of their scale."""
    catalog = CATALOG.adding(_custom())
    assert (
        discovery.api_resource_list(catalog, "example.com", "v1") == reference("resources")["facts"]["discovery_custom"]
    )
    assert discovery.api_group_list(catalog)["groups"][-1]["name"] == "example.com"
    assert discovery.api_resource_list(catalog, "example.com", "v2") is None


def test_root_paths(reference: Load) -> None:
    """With the same health checks the root lists the recorded paths."""
    want = reference("bootstrap")["root_paths"]
    checks = [path for path in want if path.startswith(("/healthz/", "/livez/", "/readyz/"))]
    assert discovery.root_paths(CATALOG, checks) == {"paths": want}


def test_core_has_no_api_version() -> None:
    """Only the resource list of the core group has no apiVersion."""
    core, apps = (discovery.api_resource_list(CATALOG, *gv) for gv in (("", "v1"), ("apps", "v1")))
    assert core is not None and list(core) == ["kind", "groupVersion", "resources"]
    assert apps is not None and list(apps) == ["kind", "apiVersion", "groupVersion", "resources"]


def test_version() -> None:
    """Major and minor are derived from the release."""
    info = discovery.version_info(SPECIFICATION)
    assert (info["major"], info["minor"]) == ("1", "23")
    assert set(info) == {
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    }
