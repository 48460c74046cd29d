"""OwnerReferencesPermissionEnforcement."""

from __future__ import annotations

from orchd.server.admission.interfaces import UPDATE
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
