"""Where built-in kinds differ on their way to the store, as data by plural; facts of release 1.23."""

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

#: DELETE answers with the object instead of a Status (ReturnDeletedObject).
RETURNS_DELETED: Final = frozenset(
    (
        "csidrivers csinodes persistentvolumeclaims persistentvolumes podsecuritypolicies pods podtemplates "
        "resourcequotas serviceaccounts services storageclasses volumeattachments"
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
#: Of those, objects that start without a generation.
UNNUMBERED: Final = frozenset(("csidrivers",))

#: Status is not cleared on create for these.
KEEPS_STATUS: Final = frozenset(("nodes",))

#: Groups in which the reference has kinds at home that it serves from others, as refusals show.
_HOMES: Final = {"ingresses": "extensions", "networkpolicies": "extensions"}


def home_group(resource: Resource) -> str:
    """The group by which refusals name a kind: that in which it is stored (events have one home in two groups), but for a
    few that were moved and left their home behind."""
    home = None if resource.custom else _HOMES.get(resource.plural)
    return split_group_version(resource.storage_version)[0] if home is None else home


#: What the status endpoint takes back to its stored value, as field paths; "" for all other kinds.
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
#: Metadata that the status endpoint takes back to its stored value. Definitions of custom kinds are not among them: the
#: reference resets their metadata to what was sent, and their own finalizer goes that way.
STATUS_KEEPS_METADATA: Final[dict[str, tuple[str, ...]]] = {
    "apiservices": _NOTES,
    "flowschemas": _ALL,
    "prioritylevelconfigurations": _ALL,
    "volumeattachments": (*_NOTES, "deletionTimestamp", "generation"),
}
