"""The tables of release 1.35 against its facts (tests/reference/1.35)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.config import feature_gates
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog, split_group_version
from orchd.kinds.gates import GATES
from orchd.kinds.objects.tabulate.table import columns
from orchd.kinds.openapi.discovery import api_group_list, api_resource_list
from orchd.kinds.release import NEWEST
from orchd.server.authz.bootstrap_policy import bootstrap_objects
from orchd.server.bootstrap import objects

FACTS = Path(__file__).resolve().parents[1] / "reference" / "1.35"
CATALOG = builtin_catalog(ORCH, NEWEST)


def facts(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FACTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


RESOURCES = facts("resources")
BOOTSTRAP = facts("bootstrap")


def test_groups_and_versions() -> None:
    """The served groups and versions are those of the release, in its order."""
    listed = [
        (group["name"], [each["version"] for each in group["versions"]], group["preferredVersion"]["version"])
        for group in api_group_list(CATALOG)["groups"]
    ]
    assert listed == [(g["name"], g["versions"], g["preferredVersion"]) for g in RESOURCES["groups"] if g["name"]]


@pytest.mark.parametrize("fact", RESOURCES["added"], ids=lambda fact: f"{fact['plural']}.{fact['version']}")
def test_added_resources(fact: dict[str, Any]) -> None:
    """A resource of the release has the names, verbs, subresources, storage version and hash of the facts."""
    listed = api_resource_list(CATALOG, fact["group"], fact["version"])
    assert listed is not None
    by_name = {each["name"]: each for each in listed["resources"]}
    entry = by_name[fact["plural"]]
    for member in ("singularName", "kind", "namespaced", "verbs"):
        assert entry[member] == fact[member]
    assert entry.get("shortNames", []) == fact["shortNames"] and entry.get("categories", []) == fact["categories"]
    assert entry.get("storageVersionHash") == fact.get("storageVersionHash")
    subresources = {name.partition("/")[2] for name in by_name if name.startswith(fact["plural"] + "/")}
    assert subresources == {each["name"] for each in fact.get("subresources", ())}


def test_removed_resources() -> None:
    """Versions that the release removed are not served."""
    assert not [f for f in RESOURCES["removed"] if CATALOG.resource(f["group"], f["version"], f["plural"]) is not None]


def test_storage_versions() -> None:
    """Kinds whose storage version changed are stored in the new one."""
    for fact in RESOURCES["storage_changes"]:
        resource = CATALOG.resource(fact["group"], fact["version"], fact["plural"])
        assert resource is not None
        assert (resource.storage_version, resource.storage_version_hash) == (fact["now"], fact["storageVersionHash"][1])


def test_singular_names() -> None:
    """Discovery has the singular name of each built-in kind."""
    singular = RESOURCES["singular_names"]
    assert {r.plural: r.singular for r in CATALOG.resources} == {
        r.plural: singular[r.plural] for r in CATALOG.resources
    }


@pytest.mark.parametrize("fact", facts("columns")["resources"], ids=lambda fact: f"{fact['gv']}/{fact['resource']}")
def test_columns(fact: dict[str, Any]) -> None:
    """The columns of a table that the release added or changed."""
    resource = CATALOG.resource(*split_group_version(fact["gv"]), fact["resource"])
    assert resource is not None
    members = ("name", "type", "format", "priority")
    shown = [{member: each[member] for member in members} for each in columns(resource, ORCH)]
    assert shown == [{member: each[member] for member in members} for each in fact["columns"]]


def test_feature_gates() -> None:
    """The release knows exactly the gates of the facts, with their stages, defaults and what they need."""
    known = {ORCH(gate.name): gate for gate in GATES if gate.stage(NEWEST) is not None}
    assert set(known) == {fact["name"] for fact in BOOTSTRAP["feature_gates"]}
    for fact in BOOTSTRAP["feature_gates"]:
        gate = known[fact["name"]]
        stage = gate.stage(NEWEST)
        assert stage is not None
        assert (stage.name.upper(), stage.default, stage.locked) == (fact["stage"], fact["default"], fact["lock"]), gate
        assert sorted(map(ORCH, gate.needed(NEWEST))) == sorted(fact.get("needs", ())), gate


@pytest.mark.parametrize("name", BOOTSTRAP["feature_gates_gone"])
def test_gates_that_are_gone(name: str) -> None:
    """A gate that the release has removed is accepted with its last value, which has no effect, and else unknown."""
    last = next(gate.default(NEWEST) for gate in GATES if ORCH(gate.name) == name)
    chosen = feature_gates.resolve(ORCH, {name: last}, NEWEST)
    assert chosen.values == feature_gates.resolve(ORCH, {}, NEWEST).values and len(chosen.warnings) == 1
    with pytest.raises(ValueError, match="unrecognized feature gate"):
        feature_gates.resolve(ORCH, {name: not last}, NEWEST)


def test_a_gate_needs_others() -> None:
    """A gate that is on while one that it needs is off is rejected; releases before do not check."""
    with pytest.raises(
        ValueError, match=r"is enabled, but depends on features that are disabled: \[UserNamespacesSupport\]"
    ):
        feature_gates.resolve(ORCH, {"UserNamespacesSupport": False, "ProcMountType": True}, NEWEST)
    feature_gates.resolve(ORCH, {"GracefulNodeShutdown": False, "GracefulNodeShutdownBasedOnPodPriority": True})


@pytest.mark.parametrize("kind", ["flowschemas", "prioritylevelconfigurations"])
def test_flow_control_objects(kind: str) -> None:
    """The built-in objects of flow control are those of the release, in its version."""
    made = {each.name: each for each in objects.flow_control(ORCH, NEWEST) if each.ref.plural == kind}
    assert {each.ref.version for each in made.values()} == {"v1"}
    assert {name: each.object["spec"] for name, each in made.items()} == {
        fact["metadata"]["name"]: fact["spec"] for fact in BOOTSTRAP[kind]
    }


def test_api_services() -> None:
    """The APIServices of built-in groups have the priorities of the release."""
    made = {each.name: each.object["spec"] for each in objects.api_services(ORCH, CATALOG)}
    assert {name: (spec["groupPriorityMinimum"], spec["versionPriority"]) for name, spec in made.items()} == {
        fact["name"]: (fact["groupPriorityMinimum"], fact["versionPriority"]) for fact in BOOTSTRAP["apiservices"]
    }


def by_name(kind: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in bootstrap_objects(ORCH, {}, NEWEST)
        if each["kind"] == kind
    }


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("ClusterRole", "clusterRoles"),
        ("ClusterRoleBinding", "clusterRoleBindings"),
        ("Role", "roles"),
        ("RoleBinding", "roleBindings"),
    ],
)
def test_default_roles(kind: str, member: str) -> None:
    """Roles and bindings that the release added or changed have its rules, labels and subjects."""
    made, rbac = by_name(kind), facts("rbac")
    for fact in rbac[f"{member}_added"]:
        found = made[fact.get("namespace", ""), fact["name"]]
        assert {name: found["metadata"][name] for name in ("labels", "annotations")} == {
            name: fact[name] for name in ("labels", "annotations")
        }
        assert {name: found[name] for name in ("rules", "subjects", "roleRef") if name in fact} == {
            name: fact[name] for name in ("rules", "subjects", "roleRef") if name in fact
        }
    for fact in rbac[f"{member}_changed"]:
        found = made[fact.get("namespace", ""), fact["name"]]
        if "rules" in fact:
            assert found["rules"] == fact["rules"], fact["name"]
        if "subjects" in fact:
            assert found["subjects"] == fact["subjects"][1]
