"""Which writes each plugin sees, and what it reads."""

from __future__ import annotations

import pytest

import orchd.server.admission
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.admission.builtin import NAMES
from orchd.server.admission.interfaces import CONNECT, CREATE, DELETE, UPDATE
from tests.resource_refs import unserved
from tests.server.admission.conftest import World

OPERATIONS = {"C": CREATE, "U": UPDATE, "D": DELETE, "X": CONNECT}
#: Resources with the subresources that plugins tell apart.
PATHS = (
    *("pods", "pods/status", "pods/eviction", "pods/binding", "pods/ephemeralcontainers", "pods/resize", "pods/log"),
    *("pods/exec", "pods/attach", "pods/portforward", "nodes", "nodes/status", "namespaces", "namespaces/status"),
    *("persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes", "serviceaccounts"),
    *("serviceaccounts/token", "services", "services/status", "events", "configmaps", "podtemplates"),
    *("replicationcontrollers", "replicationcontrollers/scale", "deployments.apps", "deployments/status.apps"),
    *("replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch"),
    *("leases.coordination.{abbr}.io", "csinodes.storage.{abbr}.io", "resourceslices.resource.{abbr}.io"),
    *("ingresses.networking.{abbr}.io", "priorityclasses.scheduling.{abbr}.io", "events.events.{abbr}.io"),
    *(f"certificatesigningrequests{each}.certificates.{{abbr}}.io" for each in ("", "/approval", "/status")),
    "localsubjectaccessreviews.authorization.{abbr}.io",
    "volumeattributesclasses.storage.{abbr}.io",
    *(
        "validatingwebhookconfigurations.admissionregistration.{abbr}.io",
        "validatingadmissionpolicies.admissionregistration.{abbr}.io",
    ),
)
EVERYTHING = " ".join(PATHS)
#: Without what configures webhooks and policies, so that broken ones can be repaired.
CALLED = " ".join(PATHS[:-2])
#: Not in a namespace.
_ABOVE = frozenset(
    "nodes namespaces persistentvolumes certificatesigningrequests csinodes resourceslices priorityclasses "
    "volumeattributesclasses validatingwebhookconfigurations validatingadmissionpolicies".split()
)
NAMESPACED = " ".join(path for path in PATHS if path.partition(".")[0].partition("/")[0] not in _ABOVE)
#: The operations and resources of each plugin.
WRITES = {
    "AlwaysAdmit": ("CUDX", EVERYTHING), "AlwaysDeny": ("CUDX", EVERYTHING),
    "NamespaceAutoProvision": ("C", NAMESPACED), "NamespaceExists": ("CUD", NAMESPACED),
    "NamespaceLifecycle": ("CUD", f"namespaces namespaces/status {NAMESPACED.replace('localsubjectaccessreviews', '-')}"),
    "SecurityContextDeny": ("CU", "pods"), "LimitPodHardAntiAffinityTopology": ("CU", "pods"),
    "LimitRanger": ("CU", "pods persistentvolumeclaims"), "ServiceAccount": ("CU", "pods pods/ephemeralcontainers"),
    "NodeRestriction": ("CUD", "pods pods/status pods/eviction pods/binding pods/ephemeralcontainers pods/resize nodes "
     "nodes/status persistentvolumeclaims persistentvolumeclaims/status serviceaccounts/token leases.coordination.{abbr}.io "
     "csinodes.storage.{abbr}.io resourceslices.resource.{abbr}.io certificatesigningrequests.certificates.{abbr}.io"),
    "TaintNodesByCondition": ("C", "nodes"), "AlwaysPullImages": ("CU", "pods pods/ephemeralcontainers"),
    "ImagePolicyWebhook": ("CU", "pods pods/ephemeralcontainers"),
    "PodSecurity": ("CU", "namespaces pods pods/ephemeralcontainers replicationcontrollers podtemplates deployments.apps "
     "replicasets.apps statefulsets.apps daemonsets.apps jobs.batch cronjobs.batch"),
    "PodSecurityPolicy": ("CU", "pods"), "PodNodeSelector": ("C", "pods"),
    "Priority": ("CU", "pods priorityclasses.scheduling.{abbr}.io"), "DefaultTolerationSeconds": ("CU", "pods"),
    "PodTolerationRestriction": ("CU", "pods"), "DenyEscalatingExec": ("X", "pods/exec pods/attach"),
    "DenyExecOnPrivileged": ("X", "pods/exec pods/attach"), "EventRateLimit": ("CU", "events"),
    "ExtendedResourceToleration": ("CU", "pods"), "PersistentVolumeLabel": ("C", "persistentvolumes"),
    "DefaultStorageClass": ("C", "persistentvolumeclaims"),
    "StorageObjectInUseProtection": ("C", "persistentvolumeclaims persistentvolumes "
     "volumeattributesclasses.storage.{abbr}.io"),
    "OwnerReferencesPermissionEnforcement": ("CU", EVERYTHING),
    "PersistentVolumeClaimResize": ("U", "persistentvolumeclaims"), "RuntimeClass": ("C", "pods"),
    "CertificateApproval": ("U", "certificatesigningrequests/approval.certificates.{abbr}.io"),
    "CertificateSigning": ("U", "certificatesigningrequests/status.certificates.{abbr}.io"),
    "CertificateSubjectRestriction": ("C", "certificatesigningrequests.certificates.{abbr}.io"),
    "DefaultIngressClass": ("C", "ingresses.networking.{abbr}.io"), "DenyServiceExternalIPs": ("CU", "services"),
    "PodTopologyLabels": ("C", "pods pods/binding"), "MutatingAdmissionWebhook": ("CUDX", CALLED),
    "ValidatingAdmissionPolicy": ("CUDX", EVERYTHING.replace("localsubjectaccessreviews", "-").replace("validatingadmissionpolicies", "-")), "ValidatingAdmissionWebhook": ("CUDX", CALLED),
    # Of subresources, those that change what is counted.
    "ResourceQuota": ("CU", "pods pods/resize " + " ".join(path for path in NAMESPACED.split() if "/" not in path and path
     not in ("events", "localsubjectaccessreviews.authorization.{abbr}.io"))),
}  # fmt: skip
#: Plugins that run only with a configuration.
CONFIGURED = {"ImagePolicyWebhook", "EventRateLimit"}


def test_every_plugin_is_listed_here() -> None:
    assert set(WRITES) == set(NAMES)


@pytest.mark.parametrize("name", sorted(set(WRITES) - CONFIGURED))
def test_writes_that_a_plugin_sees(name: str) -> None:
    """By operation, resource and subresource."""
    (plugin,) = World(only=[name], release=NEWEST).chain.plugins
    operations, paths = WRITES[name]
    assert {letter for letter, each in OPERATIONS.items() if plugin.handles(each)} == set(operations)
    handles = getattr(plugin, "handles_resource", lambda resource, subresource: True)
    catalogs = [builtin_catalog(ORCH, release) for release in (NEWEST, SPECIFICATION)]
    seen = []
    for path in PATHS:
        where, _, group = path.partition(".")
        plural, _, subresource = where.partition("/")
        version = next(
            resource
            for catalog in catalogs
            for resource in catalog.resources
            if (resource.group, resource.plural) == (ORCH(group), plural)
        )
        if handles(version, subresource):
            seen.append(path)
    assert seen == [path for path in PATHS if path in paths.split()]


def test_resources_that_plugins_read_are_served() -> None:
    assert unserved(orchd.server.admission) == []
