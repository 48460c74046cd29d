"""DefaultStorageClass and DefaultIngressClass, and the other plugins for claims."""

from __future__ import annotations

from orchd.dialect import ORCH
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World


def test_storage_plugins_on_claims(world: type[World]) -> None:
    """A claim gets the finalizer and the default class, and may grow only if the class allows it."""
    w = world()
    group = "storage.{abbr}.io"
    mark = {ORCH("storageclass.{long}.io/is-default-class"): "true"}
    w.put("storageclasses", {"metadata": {"name": "std", "annotations": mark}}, group)
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    stored_claim = w.run("persistentvolumeclaims", claim)
    assert stored_claim["metadata"]["finalizers"] == [ORCH("{long}.io/pvc-protection")]
    assert stored_claim["spec"]["storageClassName"] == "std"
    bound = {**stored_claim, "status": {"phase": "Bound"}}
    grown = {**bound, "spec": {**stored_claim["spec"], "resources": {"requests": {"storage": "2Gi"}}}}
    assert "only dynamically provisioned" in w.refusal("persistentvolumeclaims", grown, bound, operation=UPDATE).message
    w.put("storageclasses", {"metadata": {"name": "std"}, "allowVolumeExpansion": True}, group)
    w.run("persistentvolumeclaims", grown, bound, operation=UPDATE)


def test_default_ingress_class(world: type[World]) -> None:
    """An ingress without a class or the old annotation gets the default class."""
    w = world()
    group = "networking.{abbr}.io"
    mark = {ORCH("ingressclass.{long}.io/is-default-class"): "true"}
    w.put("ingressclasses", {"metadata": {"name": "i", "annotations": mark}}, group)
    assert w.run("ingresses", {"metadata": {"name": "a"}}, group=group)["spec"] == {"ingressClassName": "i"}
    old = {"metadata": {"name": "a", "annotations": {ORCH("{long}.io/ingress.class"): "x"}}}
    assert "spec" not in w.run("ingresses", old, group=group)
