"""Rules of built-in kinds on writes, as data by plural; facts of release 1.23."""

from __future__ import annotations

from typing import Final

from orchd.kinds.catalog import Resource, split_group_version

#: PUT and apply may create these (AllowCreateOnUpdate).
CREATES_ON_UPDATE: Final = frozenset(
    "clusterrolebindings clusterroles endpoints events leases limitranges rolebindings roles services".split()
)

#: PUT of these must carry metadata.resourceVersion (no AllowUnconditionalUpdate).
GUARDED: Final = frozenset(
    (
        "apiservices csidrivers csinodes csistoragecapacities customresourcedefinitions leases "
        "mutatingwebhookconfigurations poddisruptionbudgets runtimeclasses storageversions "
        "validatingwebhookconfigurations volumeattachments"
    ).split()
)

#: DELETE returns the object instead of a Status (ReturnDeletedObject).
RETURNS_DELETED: Final = frozenset(
    (
        "csidrivers csinodes persistentvolumeclaims persistentvolumes podsecuritypolicies pods podtemplates "
        "resourcequotas serviceaccounts services storageclasses volumeattachments"
    ).split()
)

#: DELETE without a propagation policy orphans dependents: plural -> apiVersions of the request to which this applies.
ORPHANS: Final[dict[str, frozenset[str]]] = {
    "cronjobs": frozenset(("batch/v1beta1",)),
    "jobs": frozenset(("batch/v1",)),
    "replicationcontrollers": frozenset(("v1",)),
}

#: Kinds without garbage collection.
UNCOLLECTED: Final = frozenset(("events",))

_SPEC: Final = (("spec",),)
#: metadata.generation starts at 1 and rises when one of these members changes.
GENERATION: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "cronjobs": _SPEC,
    "csidrivers": (("spec", "tokenRequests"), ("spec", "requiresRepublish")),
    "customresourcedefinitions": _SPEC,
    "daemonsets": _SPEC,
    "deployments": _SPEC,
    "endpointslices": (("addressType",), ("endpoints",), ("ports",), ("metadata", "labels")),
    "flowschemas": _SPEC,
    "ingressclasses": _SPEC,
    "ingresses": _SPEC,
    "jobs": _SPEC,
    "mutatingwebhookconfigurations": (("webhooks",),),
    "networkpolicies": _SPEC,
    "poddisruptionbudgets": _SPEC,
    "podtemplates": (("template",),),
    "priorityclasses": (),
    "prioritylevelconfigurations": _SPEC,
    "replicasets": _SPEC,
    "replicationcontrollers": _SPEC,
    "statefulsets": _SPEC,
    "validatingwebhookconfigurations": (("webhooks",),),
}
#: Of those, kinds whose new objects have no generation.
UNNUMBERED: Final = frozenset(("csidrivers",))

#: Status is not cleared on create for these.
KEEPS_STATUS: Final = frozenset(("nodes",))

#: Groups whose kinds the reference stores in another group; error messages name the latter.
_HOMES: Final = {"ingresses": "extensions", "networkpolicies": "extensions"}


def home_group(resource: Resource) -> str:
    """The group in error messages of a kind: the group of its storage version (events are in two groups), with a few
    exceptions for kinds that moved."""
    home = None if resource.custom else _HOMES.get(resource.plural)
    return split_group_version(resource.storage_version)[0] if home is None else home


#: Fields that the status endpoint resets to their stored values, as field paths; "" for all other kinds.
STATUS_KEEPS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "": (("f:spec",),),
    **dict.fromkeys(
        ("apiservices", "flowschemas", "prioritylevelconfigurations", "volumeattachments"), (("f:metadata",), ("f:spec",)),
    ),
    "deployments": (("f:spec",), ("f:metadata", "f:labels")),
    "pods": (
        ("f:spec",),
        ("f:metadata", "f:deletionTimestamp"),
        ("f:metadata", "f:ownerReferences"),
    ),
}

_NOTES: Final = ("labels", "annotations", "finalizers", "ownerReferences")
_ALL: Final = (
    "name", "generateName", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", *_NOTES,
)
#: Metadata that the status endpoint resets to stored values. Not for definitions of custom kinds: the reference resets
#: their metadata to what was sent, and so their finalizer can be removed there.
STATUS_KEEPS_METADATA: Final[dict[str, tuple[str, ...]]] = {
    "apiservices": _NOTES,
    "flowschemas": _ALL,
    "prioritylevelconfigurations": _ALL,
    "volumeattachments": (*_NOTES, "deletionTimestamp", "generation"),
}
