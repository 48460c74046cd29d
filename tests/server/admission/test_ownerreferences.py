"""OwnerReferencesPermissionEnforcement."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CREATE, UPDATE
from orchd.server.authz.interfaces import Action
from tests.server.admission.conftest import World, configmap


def test_owner_changes_need_permission(world: type[World]) -> None:
    """Changing owners requires permission to delete; blockOwnerDeletion requires permission for the owner's
    finalizers."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    owned = {"metadata": {"name": "a", "ownerReferences": [owner]}}
    w = world(only=["OwnerReferencesPermissionEnforcement"], allowed=lambda action: False)
    w.run("configmaps", owned)
    error = w.refusal("configmaps", owned, configmap(), operation=UPDATE)
    assert error.message.endswith("cannot set an ownerRef on a resource you can't delete: , <nil>")
    w.run("configmaps", owned, owned, operation=UPDATE)
    w.run("pods", owned, {"metadata": {"name": "a"}}, operation=UPDATE, sub="status")
    blocking = {"metadata": {"name": "a", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}}
    assert "you can't set finalizers on: , <nil>" in w.refusal("configmaps", blocking).message


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
BLOCKING = {**OWNER, "blockOwnerDeletion": True}


def _owned(*owners: Any) -> Object:
    return {"metadata": {"name": "a", "ownerReferences": list(owners)}}


@pytest.mark.parametrize(
    ("plural", "owners", "before", "more", "asked"),
    [
        ("configmaps", [OWNER], None, {}, []), ("configmaps", [BLOCKING], None, {}, [("update", "configmaps", "finalizers", "ns", "o")]),
        ("configmaps", [OWNER], [], {}, [("delete", "configmaps", "", "ns", "a")]), ("configmaps", [], [OWNER], {}, [("delete", "configmaps", "", "ns", "a")]),
        ("configmaps", [BLOCKING], [OWNER], {}, [("delete", "configmaps", "", "ns", "a"), ("update", "configmaps", "finalizers", "ns", "o")]),
        ("configmaps", [BLOCKING, OWNER], [BLOCKING], {}, [("delete", "configmaps", "", "ns", "a")]), ("configmaps", [BLOCKING], [BLOCKING], {}, []),
        ("pods", [OWNER], [], {"sub": "status"}, []), ("pods", [OWNER], [], {}, [("delete", "pods", "", "ns", "a")]),
        ("nodes", [{**BLOCKING, "kind": "Node"}], None, {}, [("update", "nodes", "finalizers", "", "o")]),
        ("services", [OWNER], [], {"sub": "status"}, [("delete", "services", "", "ns", "a")]),
    ],
)  # fmt: skip
def test_permissions_that_are_asked_for(
    world: type[World], plural: str, owners: list[Any], before: list[Any] | None, more: Any, asked: list[Any]
) -> None:
    """To delete the object whose owners change, and to change the finalizers of an owner whose deletion it blocks."""
    actions: list[Any] = []

    def allowed(action: Action) -> bool:
        actions.append((action.verb, action.resource, action.subresource, action.namespace, action.name))
        return True

    w = world(only=["OwnerReferencesPermissionEnforcement"], allowed=allowed)
    old = None if before is None else _owned(*before)
    w.run(plural, _owned(*owners), old, operation=CREATE if old is None else UPDATE, **more)
    assert actions == asked


def test_owners_of_unknown_kinds(world: type[World]) -> None:
    """Whether their deletion may be blocked cannot be told."""
    w = world(only=["OwnerReferencesPermissionEnforcement"])
    for version, kind in (("a/v1", '"B.a" in version "v1"'), ("v2", '"B" in version "v2"')):
        message = w.refusal("configmaps", _owned({**BLOCKING, "apiVersion": version, "kind": "B"})).message
        assert message.endswith(f"APIVersion {version} Kind B: no matches for kind {kind}")
