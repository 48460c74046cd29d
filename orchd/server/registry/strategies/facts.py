"""Where built-in kinds differ on their way to the store, as data by plural; facts of release 1.23."""

from __future__ import annotations

from typing import Final

#: PUT and apply may create these (AllowCreateOnUpdate).
CREATES_ON_UPDATE: Final = frozenset(
    "clusterrolebindings clusterroles endpoints events leases limitranges rolebindings roles services".split()
)

#: PUT of these must carry metadata.resourceVersion (no AllowUnconditionalUpdate).
GUARDED: Final = frozenset(
    (
        "apiservices csidrivers csinodes csistoragecapacities customresourcedefinitions flowschemas leases "
        "mutatingwebhookconfigurations poddisruptionbudgets prioritylevelconfigurations runtimeclasses storageversions "
        "validatingwebhookconfigurations volumeattachments"
    ).split()
)

#: DELETE answers with the object instead of a Status (ReturnDeletedObject).
RETURNS_DELETED: Final = frozenset(
    (
        "csidrivers csinodes ingressclasses namespaces nodes persistentvolumeclaims persistentvolumes podsecuritypolicies "
        "pods podtemplates resourcequotas serviceaccounts services storageclasses volumeattachments csistoragecapacities"
    ).split()
)

#: DELETE without a propagation policy orphans the dependents: plural -> apiVersions of the request for which it does.
ORPHANS: Final[dict[str, frozenset[str]]] = {
    "cronjobs": frozenset(("batch/v1beta1",)),
    "jobs": frozenset(("batch/v1",)),
    "replicationcontrollers": frozenset(("v1",)),
}

#: Nothing depends on these and nothing collects them (garbage collection unsupported).
UNCOLLECTED: Final = frozenset(("events",))

#: metadata.generation starts at 1 and rises when one of these top-level members changes.
GENERATION: Final[dict[str, tuple[str, ...]]] = {
    "cronjobs": ("spec",),
    "customresourcedefinitions": ("spec",),
    "daemonsets": ("spec",),
    "deployments": ("spec",),
    "endpointslices": ("addressType", "endpoints", "ports"),
    "flowschemas": ("spec",),
    "ingressclasses": ("spec",),
    "ingresses": ("spec",),
    "jobs": ("spec",),
    "mutatingwebhookconfigurations": ("webhooks",),
    "networkpolicies": ("spec",),
    "poddisruptionbudgets": ("spec",),
    "podtemplates": ("template",),
    "priorityclasses": (),
    "prioritylevelconfigurations": ("spec",),
    "replicasets": ("spec",),
    "replicationcontrollers": ("spec",),
    "statefulsets": ("spec",),
    "validatingwebhookconfigurations": ("webhooks",),
}

#: Status is not cleared on create for these.
KEEPS_STATUS: Final = frozenset(("nodes",))

#: What the status endpoint takes back to its stored value, as field paths; "" for all other kinds.
STATUS_KEEPS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "": (("f:spec",),),
    "deployments": (("f:spec",), ("f:metadata", "f:labels")),
    "pods": (
        ("f:spec",),
        ("f:metadata", "f:deletionTimestamp"),
        ("f:metadata", "f:ownerReferences"),
    ),
}
