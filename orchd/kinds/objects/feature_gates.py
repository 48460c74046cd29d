"""Fields behind feature gates: dropped on writes if their gate is off, unless the stored object uses them.

The table is that of release 1.23. Gated values that are rejected instead are part of validation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import empty_collections
from orchd.kinds.objects.settings import ObjectSettings

_ABSENT: Final = object()


def _any_source(value: Any, settings: ObjectSettings) -> bool:
    """True if a claim's data source is neither a claim nor a snapshot."""
    group, kind = value.get("apiGroup") or "", value.get("kind")
    snapshots = settings.dialect("snapshot.storage.{abbr}.io")
    return (group, kind) not in (("", "PersistentVolumeClaim"), (snapshots, "VolumeSnapshot"))


@dataclass(frozen=True, slots=True)
class Gated:
    """A field behind a gate. `replacement` is its value with the gate off (default: dropped), `applies` selects the gated
    values if only some are gated, `part` names the member of the value if only that is gated."""

    gate: str
    on: bool
    replacement: Any = _ABSENT
    applies: Callable[[Any, ObjectSettings], bool] | None = None
    part: str = ""


_GRACE: Final = Gated("ProbeTerminationGracePeriod", False, part="terminationGracePeriodSeconds")
#: Not for readiness probes, for which validation rejects the member.
_PROBES: Final = {"livenessProbe": _GRACE, "startupProbe": _GRACE}

#: struct -> field -> its gate
TABLE: Final[dict[str, dict[str, Gated]]] = {
    "apps/v1.RollingUpdateDaemonSet": {"maxSurge": Gated("DaemonSetUpdateSurge", True)},
    "apps/v1.StatefulSetSpec": {
        "minReadySeconds": Gated("StatefulSetMinReadySeconds", True),
        "persistentVolumeClaimRetentionPolicy": Gated("StatefulSetAutoDeletePVC", False),
    },
    "batch/v1.JobSpec": {
        "completionMode": Gated("IndexedJob", True),
        "suspend": Gated("SuspendJob", True),
    },
    "core/v1.Container": _PROBES,
    "core/v1.EphemeralContainer": _PROBES,
    "certificates/v1.CertificateSigningRequestSpec": {"expirationSeconds": Gated("CSRDuration", True)},
    "core/v1.NodeSpec": {"configSource": Gated("Dynamic{Short}letConfig", False)},
    "core/v1.PersistentVolumeClaimSpec": {
        "dataSource": Gated("AnyVolumeDataSource", False, applies=_any_source),
        "dataSourceRef": Gated("AnyVolumeDataSource", False),
    },
    "core/v1.PersistentVolumeClaimStatus": {
        "allocatedResources": Gated("RecoverVolumeExpansionFailure", False),
        "resizeStatus": Gated("RecoverVolumeExpansionFailure", False),
    },
    "core/v1.PodAffinityTerm": {"namespaceSelector": Gated("PodAffinityNamespaceSelector", True)},
    "core/v1.PodSpec": {"os": Gated("IdentifyPodOS", False)},
    "core/v1.Probe": {"grpc": Gated("GRPCContainerProbe", True)},
    "core/v1.SecurityContext": {"procMount": Gated("ProcMountType", False, replacement="Default")},
    "core/v1.ServiceSpec": {
        "allocateLoadBalancerNodePorts": Gated("ServiceLBNodePortControl", True),
        "internalTrafficPolicy": Gated("ServiceInternalTrafficPolicy", True),
        "loadBalancerClass": Gated("ServiceLoadBalancerClass", True),
    },
    "core/v1.Volume": {"csi": Gated("CSIInlineVolume", True)},
    "core/v1.WindowsSecurityContextOptions": {"hostProcess": Gated("WindowsHostProcessContainers", True)},
    "discovery/v1.Endpoint": {"hints": Gated("TopologyAwareHints", False)},
    "discovery/v1.EndpointConditions": {
        "serving": Gated("EndpointSliceTerminatingCondition", True),
        "terminating": Gated("EndpointSliceTerminatingCondition", True),
    },
    "discovery/v1beta1.Endpoint": {"hints": Gated("TopologyAwareHints", False)},
    "discovery/v1beta1.EndpointConditions": {
        "serving": Gated("EndpointSliceTerminatingCondition", True),
        "terminating": Gated("EndpointSliceTerminatingCondition", True),
    },
    "networking/v1.NetworkPolicyPort": {"endPort": Gated("NetworkPolicyEndPort", True)},
    "node/v1.RuntimeClass": {"overhead": Gated("PodOverhead", True)},
    "policy/v1beta1.PodSecurityPolicySpec": {"allowedProcMountTypes": Gated("ProcMountType", False)},
    "scheduling/v1.PriorityClass": {"preemptionPolicy": Gated("NonPreemptingPriority", True)},
    "storage/v1.CSIDriverSpec": {"fsGroupPolicy": Gated("DelegateFSGroupToCSIDriver", True)},
}


@dataclass(slots=True, eq=False)
class _Node:
    """Positions of gated fields in values of a type: in the value, and below members ("": every element)."""

    gated: dict[str, Gated] = field(default_factory=dict)
    below: dict[str, _Node] = field(default_factory=dict)


def drop_disabled(obj: Object, old: Object | None, type: Type, settings: ObjectSettings) -> Object:
    """`obj`, in stored form, without fields whose gate is off, except fields that `old` has.

    `old` is the stored object, None on create.
    """
    obj = empty_collections.as_stored(obj, type)
    node = _node(type, settings)
    if node is None:
        return obj
    used: set[str] = set()
    _collect(obj, node, settings, used)
    if used and old is not None:
        kept: set[str] = set()
        _collect(old, node, settings, kept)
        used -= kept
    return _without(obj, node, settings, used) if used else obj


def drop_job_tracking(job: Object, settings: ObjectSettings) -> Object:
    """Remove the annotation for tracking with finalizers from a new Job, if that feature is off."""
    key = settings.dialect("batch.{long}.io/job-tracking")
    metadata = job.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if key not in annotations or settings.feature("JobTrackingWithFinalizers", False):
        return job
    rest = {name: text for name, text in annotations.items() if name != key}
    kept = {name: item for name, item in metadata.items() if name != "annotations"}
    return {**job, "metadata": {**kept, "annotations": rest} if rest else kept}


def _node(type: Type, settings: ObjectSettings) -> _Node | None:
    memo = type.memo
    if "gates" not in memo:
        node = memo["gates"] = _Node()
        if type.kind == "struct" and type.constraints is None:
            own = TABLE.get(type.name, {})
            node.gated = {settings.dialect(name): gated for name, gated in own.items()}
            for name, member in type.fields.items():
                inner = _node(member.type, settings)
                if inner is not None:
                    node.below[name] = inner
        elif type.kind in ("list", "map"):
            inner = _node(type.element, settings)
            if inner is not None:
                node.below[""] = inner
        if not node.gated and not node.below:
            memo["gates"] = None
    found: _Node | None = memo["gates"]
    return found


def _is_off(gated: Gated, value: Any, settings: ObjectSettings) -> bool:
    if settings.feature(settings.dialect(gated.gate), gated.on):
        return False
    if gated.part:
        return bool(value.get(gated.part) is not None)
    return gated.applies is None or gated.applies(value, settings)


def _collect(value: Any, node: _Node, settings: ObjectSettings, used: set[str]) -> None:
    """Collect the disabled gates whose fields are set in `value`."""
    if value.__class__ is list:
        inner = node.below.get("")
        if inner is not None:
            for item in value:
                _collect(item, inner, settings, used)
        return
    if value.__class__ is not dict:
        return
    every = node.below.get("")
    if every is not None:
        for item in value.values():
            _collect(item, every, settings, used)
        return
    for name, gated in node.gated.items():
        if value.get(name) is not None and _is_off(gated, value[name], settings):
            used.add(gated.gate)
    for name, inner in node.below.items():
        item = value.get(name)
        if item:
            _collect(item, inner, settings, used)


def _without(value: Any, node: _Node, settings: ObjectSettings, gates: set[str]) -> Any:
    if value.__class__ is list:
        inner = node.below.get("")
        return value if inner is None else [_without(item, inner, settings, gates) for item in value]
    if value.__class__ is not dict:
        return value
    out = {}
    every = node.below.get("")
    for name, item in value.items():
        gated = node.gated.get(name)
        if gated is not None and item is not None and gated.gate in gates and _is_off(gated, item, settings):
            if gated.part:
                item = {key: part for key, part in item.items() if key != gated.part}
            else:
                if gated.replacement is not _ABSENT:
                    out[name] = gated.replacement
                continue
        inner = every or node.below.get(name)
        out[name] = item if inner is None or not item else _without(item, inner, settings, gates)
    return out
