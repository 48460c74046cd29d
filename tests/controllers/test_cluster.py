"""A whole server with all controllers."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.config import choices
from orchd.controllers.namespace import CONDITIONS
from orchd.controllers.objects import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from orchd.controllers.table import CONTROLLERS
from orchd.dialect import ORCH
from orchd.kinds.release import RELEASES
from tests.controllers.cluster_support import NAMESPACES, Cluster


def test_controllers_flag_offers_the_built_controllers() -> None:
    """--controllers offers exactly the built controllers."""
    assert {row.name for row in CONTROLLERS} == set(choices.CONTROLLERS_BUILT)
    for release in RELEASES.values():
        built = [row.name for row in CONTROLLERS if release.includes(row.since, row.until)]
        assert len(set(built)) == len(built)


def test_namespace_gets_account_token_and_root_ca(cluster: Cluster) -> None:
    """A namespace gets a default service account and the ConfigMap with the cluster's CA; the account gets a token."""
    assert cluster.names(SERVICE_ACCOUNTS) == ["default"]
    [secret] = cluster.items(SECRETS)
    assert cluster.items(SERVICE_ACCOUNTS)[0]["secrets"] == [{"name": secret["metadata"]["name"]}]
    assert sorted(secret["data"]) == ["ca.crt", "namespace", "token"]
    assert base64.b64decode(secret["data"]["namespace"]) == b"a"
    assert cluster.names(CONFIG_MAPS) == [ORCH("{short}-root-ca.crt")]


def test_deleted_defaults_are_recreated(cluster: Cluster) -> None:
    """A deleted default account, token or CA ConfigMap is created again; a changed one is restored."""
    authority = ORCH("{short}-root-ca.crt")
    cluster.patch(CONFIG_MAPS, authority, {"data": {"ca.crt": "other", "more": "x"}})
    config_map = cluster.get(CONFIG_MAPS, authority)
    assert config_map is not None and list(config_map["data"]) == ["ca.crt"] and config_map["data"]["ca.crt"] != "other"
    cluster.delete(CONFIG_MAPS, authority)
    assert cluster.names(CONFIG_MAPS) == [authority]
    [old] = cluster.names(SECRETS)
    cluster.delete(SECRETS, old)
    [new] = cluster.names(SECRETS)
    assert new != old
    assert cluster.items(SERVICE_ACCOUNTS)[0]["secrets"] == [{"name": new}]
    cluster.delete(SERVICE_ACCOUNTS, "default")
    assert cluster.names(SERVICE_ACCOUNTS) == ["default"]
    assert cluster.names(SECRETS) not in ([], [new])


def test_token_secret_is_filled_or_deleted(cluster: Cluster) -> None:
    """A manually created token secret is filled; one of a missing account is deleted."""
    kind = ORCH("{long}.io/service-account-token")
    for name, account in (("good", "default"), ("bad", "nobody")):
        notes = {ORCH("{long}.io/service-account.name"): account}
        cluster.create(SECRETS, {"metadata": {"name": name, "annotations": notes}, "type": kind})
    cluster.settle()
    secret = cluster.get(SECRETS, "good")
    assert secret is not None and secret["data"]["token"]
    assert cluster.get(SECRETS, "bad") is None


def test_aggregated_roles_follow_their_sources(cluster: Cluster) -> None:
    """Aggregated roles have the rules of the roles that they select, and follow their changes."""
    ref = ResourceRef(ORCH("rbac.authorization.{abbr}.io"), "v1", "clusterroles")
    for name in ("admin", "edit", "view"):
        role = cluster.get(ref, name, "")
        assert role is not None and role["rules"]
    rule = {"apiGroups": ["g"], "resources": ["things"], "verbs": ["get"]}
    label = {ORCH("rbac.authorization.{abbr}.io/aggregate-to-view"): "true"}
    cluster.create(ref, {"metadata": {"name": "more", "labels": label}, "rules": [rule]}, "")
    cluster.settle()
    role = cluster.get(ref, "view", "")
    assert role is not None and rule in role["rules"]


# -- owners


def owned(cluster: Cluster, name: str, *owners: Any, **more: Any) -> dict[str, Any]:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"], **more}
        for o in owners
    ]
    return cluster.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": references}})


def test_background_deletion_removes_dependents(cluster: Cluster) -> None:
    """Dependents are deleted after their owner, to any depth; those with another owner lose the reference."""
    top, other = owned(cluster, "top"), owned(cluster, "other")
    middle = owned(cluster, "middle", top)
    owned(cluster, "bottom", middle)
    owned(cluster, "shared", top, other)
    cluster.delete(CONFIG_MAPS, "top", propagationPolicy="Background")
    left = [n for n in cluster.names(CONFIG_MAPS) if "root-ca" not in n]
    assert left == ["other", "shared"]
    config_map = cluster.get(CONFIG_MAPS, "shared")
    assert config_map is not None and [r["name"] for r in config_map["metadata"]["ownerReferences"]] == ["other"]


def test_object_of_a_missing_owner_is_deleted(cluster: Cluster) -> None:
    """An object whose owner does not exist, or has another uid, is deleted."""
    top = owned(cluster, "top")
    owned(cluster, "wrong", {"metadata": {"name": "top", "uid": "another"}})
    owned(cluster, "right", top)
    cluster.settle()
    assert cluster.get(CONFIG_MAPS, "wrong") is None
    assert cluster.get(CONFIG_MAPS, "right") is not None


def test_foreground_deletion_waits_for_blocking_dependents(cluster: Cluster) -> None:
    """An owner that is deleted in the foreground stays until its blocking dependents are deleted."""
    top = owned(cluster, "top")
    owned(cluster, "held", top, blockOwnerDeletion=True)
    cluster.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": ["example.org/hold"]}})
    cluster.delete(CONFIG_MAPS, "top", propagationPolicy="Foreground")
    found, held = cluster.get(CONFIG_MAPS, "top"), cluster.get(CONFIG_MAPS, "held")
    assert found is not None and found["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert held is not None and held["metadata"]["deletionTimestamp"]
    cluster.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}})
    assert cluster.get(CONFIG_MAPS, "top") is None
    assert cluster.get(CONFIG_MAPS, "held") is None


def test_ownership_circle_is_deleted(cluster: Cluster) -> None:
    """Objects that own and block each other are deleted."""
    one = owned(cluster, "one")
    two = owned(cluster, "two", one, blockOwnerDeletion=True)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": two["metadata"]["uid"]}
    cluster.patch(CONFIG_MAPS, "one", {"metadata": {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}})
    cluster.delete(CONFIG_MAPS, "one", propagationPolicy="Foreground")
    cluster.settle(10)
    assert cluster.get(CONFIG_MAPS, "one") is None
    assert cluster.get(CONFIG_MAPS, "two") is None


def test_orphaned_objects_lose_the_owner_reference(cluster: Cluster) -> None:
    """Orphaned objects stay and lose their owner reference."""
    top = owned(cluster, "top")
    owned(cluster, "child", top)
    cluster.delete(CONFIG_MAPS, "top", propagationPolicy="Orphan")
    assert cluster.get(CONFIG_MAPS, "top") is None
    config_map = cluster.get(CONFIG_MAPS, "child")
    assert config_map is not None and "ownerReferences" not in config_map["metadata"]


# -- namespaces


def test_deleted_namespace_goes_with_its_content(cluster: Cluster) -> None:
    """A deleted namespace is removed with everything in it."""
    owned(cluster, "thing")
    cluster.delete(NAMESPACES, "a", "")
    assert cluster.get(NAMESPACES, "a", "") is None
    assert cluster.items(CONFIG_MAPS) == [] == cluster.items(SECRETS)


def test_terminating_namespace_names_remaining_content(cluster: Cluster) -> None:
    """The conditions of a terminating namespace list remaining resources and finalizers until they are gone."""
    owned(cluster, "held")
    cluster.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": ["example.org/hold"]}})
    cluster.delete(NAMESPACES, "a", "")
    namespace = cluster.get(NAMESPACES, "a", "")
    assert namespace is not None
    said = {c["type"]: (c["status"], c["reason"], c["message"]) for c in namespace["status"]["conditions"]}
    assert [c["type"] for c in namespace["status"]["conditions"]] == [type_ for type_, _, _ in CONDITIONS]
    assert said["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert said["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.org/hold in 1 resource instances",
    )
    assert said["NamespaceDeletionContentFailure"][0] == "False"
    cluster.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}})
    cluster.settle(10)
    assert cluster.get(NAMESPACES, "a", "") is None


def test_namespace_waits_for_an_unavailable_group(cluster: Cluster) -> None:
    """A namespace is not finalized while an aggregated group is unavailable, since it may have objects there."""
    dialect = cluster.server.dialect
    services = ResourceRef(dialect("apiregistration.{abbr}.io"), "v1", "apiservices")
    wanted = {
        "group": "far.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
        "service": {"namespace": "other", "name": "far"}, "insecureSkipTLSVerify": True,
    }  # fmt: skip
    cluster.create(services, {"metadata": {"name": "v1.far.example.com"}, "spec": wanted}, "")
    cluster.delete(NAMESPACES, "a", "")
    namespace = cluster.get(NAMESPACES, "a", "")
    assert namespace is not None
    (failure,) = (c for c in namespace["status"]["conditions"] if c["type"] == "NamespaceDeletionDiscoveryFailure")
    assert (failure["status"], failure["reason"]) == ("True", "DiscoveryFailed")
    assert failure["message"] == (
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
        "far.example.com/v1: the server is currently unable to handle the request"
    )
    cluster.delete(services, "v1.far.example.com", "")
    cluster.settle(300)
    assert cluster.get(NAMESPACES, "a", "") is None


@pytest.mark.parametrize("seconds", [25.0])
def test_idle_controllers_make_no_requests(cluster: Cluster, seconds: float) -> None:
    """Controllers make no requests while nothing has to change."""
    group = cluster.server.server.background.controllers.group
    assert group is not None
    before = {name: counts.worked for name, counts in group.counts()}
    cluster.settle(seconds)
    assert {name: counts.worked for name, counts in group.counts()} == before
