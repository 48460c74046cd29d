"""NamespaceLifecycle and NamespaceAutoProvision."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.server.admission.interfaces import DELETE, UPDATE
from orchd.server.admission.plugins.namespacelifecycle import NamespaceLifecycle
from tests.server.admission.conftest import World, configmap


def test_create_needs_an_active_namespace(world: type[World]) -> None:
    """A missing namespace is a 404 of its own; a terminating one rejects creates with a cause, and allows updates."""
    w = world()
    error = w.refusal("configmaps", configmap(), namespace="gone")
    assert (error.code, error.message) == (404, 'namespaces "gone" not found')
    w.namespace("going", phase="Terminating")
    error = w.refusal("configmaps", configmap(), namespace="going")
    assert error.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert error.details is not None
    assert error.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]
    w.run("configmaps", configmap(), configmap(), operation=UPDATE, namespace="going")
    w.run("configmaps", None, configmap(), operation=DELETE, namespace="gone")


def test_reviews_of_access_need_no_namespace(world: type[World]) -> None:
    """Access to a namespace that does not exist can be asked about."""
    w = world(only=["NamespaceLifecycle"])
    w.run("localsubjectaccessreviews", {"metadata": {}, "spec": {}}, group="authorization.{abbr}.io", namespace="gone")


def test_system_namespaces_cannot_be_deleted(world: type[World]) -> None:
    """The default and the system namespaces cannot be deleted."""
    w = world()
    for name in ("default", ORCH("{short}-system"), ORCH("{short}-public")):
        error = w.refusal("namespaces", None, {"metadata": {"name": name}}, operation=DELETE)
        assert error.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    w.run("namespaces", None, {"metadata": {"name": "ns"}}, operation=DELETE)


def test_deleted_namespace_is_read_live(world: type[World]) -> None:
    """After a delete the namespace is read from the store, while the informer still shows it as active."""
    w = world(only=["NamespaceLifecycle"])
    w.run("namespaces", None, {"metadata": {"name": "ns"}}, operation=DELETE)
    w.client.calls.clear()
    w.run("configmaps", configmap())
    assert w.client.calls == [("get", "namespaces", "", "ns")]
    w.now += 31
    w.run("configmaps", configmap())
    assert len(w.client.calls) == 1


def test_namespace_auto_provision(world: type[World]) -> None:
    """NamespaceAutoProvision creates missing namespaces, except in a dry run."""
    w = world(enable=["NamespaceAutoProvision"])
    w.run("configmaps", configmap(), namespace="new")
    assert ("create", "namespaces", "", "new") in w.client.calls
    assert w.refusal("configmaps", configmap(), namespace="newer", dry_run=True).code == 404
    assert world(only=["NamespaceExists"]).refusal("configmaps", configmap(), namespace="x").code == 404


def test_waiting_for_informers_is_bounded(world: type[World]) -> None:
    """A request waits up to ten seconds for the informer's first list, then is rejected."""
    from dataclasses import replace

    w = world()
    clock = Clock()
    plugin = NamespaceLifecycle(replace(w.context, runtime=replace(w.context.runtime, reactor=clock)))
    informer = w.informers.informer(ResourceRef("", "v1", "namespaces"))
    informer.synced = False
    outcomes: list[Any] = []
    Deferred.fromCoroutine(plugin.admit(w.review("configmaps", configmap()))).addBoth(outcomes.append)
    assert not outcomes
    clock.advance(11)
    assert outcomes[0].value.message == 'configmaps "a" is forbidden: not yet ready to handle request'
    Deferred.fromCoroutine(plugin.admit(w.review("configmaps", configmap()))).addBoth(outcomes.append)
    informer.sync()
    assert outcomes[1] is None
