"""Feature gates: their stage and default in each release, where they act, and the fields that go with them.

This table is the only place that states a default. `orchd.config.feature_gates` computes the values of a process from
the flag; `orchd.kinds.objects.feature_gates` drops the fields of gates that are off. docs/feature-gates.md is made of
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from orchd.kinds import later_gates
from orchd.kinds.release import SPECIFICATION, Release

UNCHANGED: Final = object()


@dataclass(frozen=True, slots=True)
class Stage:
    """Maturity of a gate (alpha, beta, GA or deprecated), its default, and whether that is its only value."""

    name: str
    default: bool
    locked: bool = False


ALPHA: Final = Stage("alpha", False)
BETA: Final = Stage("beta", True)
BETA_OFF: Final = Stage("beta", False)
GA: Final = Stage("GA", True, locked=True)
GA_UNLOCKED: Final = Stage("GA", True)
DEPRECATED: Final = Stage("deprecated", False)
DEPRECATED_ON: Final = Stage("deprecated", True)

#: How a field is treated on updates while its gate is off: kept if the stored object uses it, always kept, always
#: dropped, or given the stored value unless the stored object uses it.
USED, KEPT, DROPPED, STORED = "used", "kept", "dropped", "stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A field that is dropped on writes while its gate is off.

    `field` is ``TYPE.FIELD`` or ``TYPE.FIELD.MEMBER`` and so on, which is that member in values of TYPE alone (a
    template of the dialect). `prefix` (a template) selects the keys of a map. `replacement` is the value with the gate
    off. `rule` names the predicate of `orchd.kinds.objects.feature_gates.RULES` for values that use the feature ("":
    all). Fields of one `use` are kept together: the stored object uses all of them or none ("": those of the gate).
    `whole`: only if an object is a TYPE, not if it contains one.
    """

    field: str
    prefix: str = ""
    replacement: Any = UNCHANGED
    rule: str = ""
    update: str = USED
    use: str = ""
    whole: bool = False
    #: Values that do not use the feature stay.
    partly: bool = False
    #: A struct that is empty without the field is dropped.
    with_owner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """`stages` are pairs of the release that begins a stage and the stage, ascending; None ends the gate. `component`
    is where the gate acts (server, controllers, scheduler), or whose it is (node, cloud) if it has no effect here.
    `tolerates` are fields that validation rejects while the gate is off, unless the stored object uses them. `stock`:
    on by default in the dialect of stock clients, whose definitions are those of newer releases. `controllers` and
    `plugins` are the controllers and admission plugins that do not run while it is off, `subresources` those that are
    not served; `needs` are gates that must be on if it is."""

    name: str
    stages: tuple[tuple[str, Stage | None], ...]
    component: str
    effect: str
    tolerates: tuple[Drop, ...] = ()
    drops: tuple[Drop, ...] = ()
    controllers: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    stock: bool = False
    needs: tuple[str, ...] = ()

    def needed(self, release: Release) -> tuple[str, ...]:
        """The gates that must be on in a release if this one is."""
        return self.needs if release.includes(later_gates.NEEDS_SINCE) else ()

    def stage(self, release: Release = SPECIFICATION) -> Stage | None:
        """The stage in a release; None if the release has no such gate."""
        return next((stage for since, stage in reversed(self.stages) if release.includes(since)), None)

    def has_ended(self, release: Release) -> bool:
        """True if an earlier release had the gate, and this one does not."""
        return release.includes(self.stages[0][0]) and self.stage(release) is None

    def default(self, release: Release = SPECIFICATION) -> bool:
        """The default in a release: false before the gate exists, and that of its last stage after it is gone."""
        begun = (stage for since, stage in reversed(self.stages) if stage is not None and release.includes(since))
        return next((stage.default for stage in begun), False)


def _gate(
    name: str,
    stage: Stage,
    component: str,
    effect: str,
    *fields: str | Drop,
    later: tuple[tuple[str, Stage | None], ...] = (),
    **others: Any,
) -> Gate:
    """A gate of release 1.23 on. `fields` are what it drops, `later` its stages after that of 1.23, `others` further
    attributes of the gate."""
    drops = tuple(each if isinstance(each, Drop) else Drop(field=each) for each in fields)
    return Gate(name=name, stages=(("1.23", stage), *later), component=component, effect=effect, drops=drops, **others)


#: What gates of a component have for an effect if they have no text of their own.
_NO_EFFECT: Final = {
    "server": "None here: the server acts as by default.",
    "controllers": "None here: controllers act as by default.",
    "scheduler": "None here: the scheduler acts as by default.",
    "client": "None here: it is for libraries of clients.",
    "logs": "None here: it is for formats of log files.",
    "node": "None here: it is for nodes, their proxies and the drivers of their volumes.",
    "cloud": "None here: it is for cloud providers and volume plugins that are part of the reference's programs.",
}


def _elsewhere(component: str, stage: Stage, *names: str) -> tuple[Gate, ...]:
    """Gates of components that are not here. They are accepted, so that one list can be passed to all."""
    return tuple(_gate(name, stage, component, _NO_EFFECT[component]) for name in names)


def _always(*names: str) -> tuple[Gate, ...]:
    return tuple(_gate(name, GA, "server", "Always on; false is rejected.") for name in names)


def _migration(name: str, stage: Stage) -> Gate:
    return _gate(name, stage, "scheduler", "Volumes of the in-tree plugin count as those of its CSI driver, on nodes that announce it.")


#: Stages by their names in histories; a gate of one of them is on or off as here unless its history says so.
_STAGES: Final = {"alpha": False, "beta": True, "GA": True, "deprecated": False}


def _stages(history: str) -> tuple[tuple[str, Stage | None], ...]:
    """The stages of a history (`orchd.kinds.later_gates`)."""
    stages: list[tuple[str, Stage | None]] = []
    for text in filter(None, history.split("; ")):
        since, name, *words = text.split()
        stage = None
        if name != "-":
            default = "on" in words or ("off" not in words and _STAGES[name])
            stage = Stage(name, default, locked="locked" in words)
        stages.append((since, stage))
    return tuple(stages)


def _with_history(gate: Gate) -> Gate:
    """A gate with what becomes of it after release 1.23."""
    later = _stages(later_gates.HISTORY.get(gate.name, ""))
    return replace(gate, stages=gate.stages + later, needs=later_gates.NEEDS.get(gate.name, ()))


def _later() -> Iterator[Gate]:
    """The gates that release 1.23 does not have."""
    for component, name, history in later_gates.LATER:
        fields = later_gates.FIELDS.get(name, ())
        yield Gate(
            name=name,
            stages=_stages(history),
            component=component,
            effect=later_gates.EFFECTS.get(name) or _effect_of(fields) or _NO_EFFECT[component],
            drops=(*(Drop(field=field) for field in fields), *_RULED.get(name, ())),
            needs=later_gates.NEEDS.get(name, ()),
        )


def _effect_of(fields: tuple[str, ...]) -> str:
    """The effect of a gate that only drops fields; "" without fields."""
    names = sorted({field.rpartition(".")[2] for field in fields})
    return f"Field{'s' if len(names) > 1 else ''} {', '.join(names)}." if names else ""


#: Fields of later gates that are dropped by a rule.
_RULED: Final[Mapping[str, tuple[Drop, ...]]] = {
    "NodeDeclaredFeatures": (Drop(field="core/v1.Node.status.declaredFeatures", whole=True),),
    "ContainerStopSignals": (Drop(field="core/v1.Lifecycle.stopSignal", with_owner=True),),
    "CrossNamespaceVolumeDataSource": (
        Drop(field="core/v1.PersistentVolumeClaim.spec.dataSourceRef", rule="in_namespace", whole=True, partly=True),
    ),
}


_FIRST: Final[tuple[Gate, ...]] = ((
    # -- the API server
    _gate("APIListChunking", BETA, "server", "Lists honor limit and continue; off: limit is ignored."),
    _gate("APIPriorityAndFairness", BETA, "server", "Requests are queued by flow; off: only the limits of requests in flight."),
    _gate("APIResponseCompression", BETA, "server", "Large responses are compressed for clients that accept gzip."),
    _gate("APIServerIdentity", ALPHA, "server",
          "Each server keeps a lease in the system namespace, and expired ones are removed."),
    _gate("APIServerTracing", ALPHA, "server", "false rejects --tracing-config-file, which otherwise turns tracing on."),
    _gate("AnyVolumeDataSource", ALPHA, "server", "Claims name any kind of data source in dataSourceRef.",
          Drop(field="core/v1.PersistentVolumeClaim.spec.dataSourceRef", update=DROPPED, whole=True)),
    _gate("AppArmor", BETA, "server", "Off: AppArmor annotations are dropped from pods and templates.",
          Drop(field="core/v1.Pod.metadata.annotations", prefix="container.apparmor.security.beta.{long}.io/"),
          Drop(field="core/v1.PodTemplateSpec.metadata.annotations", prefix="container.apparmor.security.beta.{long}.io/")),
    _gate("CSIInlineVolume", BETA, "server", "Pods have volumes of CSI drivers.",
          "core/v1.Volume.csi",
          Drop(field="storage/v1.CSIDriverSpec.volumeLifecycleModes"),
          Drop(field="policy/v1beta1.PodSecurityPolicySpec.allowedCSIDrivers", update=DROPPED)),
    _gate("CSIMigration", BETA, "server, scheduler",
          "In-tree volumes are handled by CSI drivers; off: attachments have no inline volume.",
          "storage/v1.VolumeAttachmentSource.inlineVolumeSpec"),
    _gate("CSIStorageCapacity", BETA, "server, scheduler", "Drivers report capacity, which the scheduler honors.",
          "storage/v1.CSIDriverSpec.storageCapacity"),
    _gate("CSRDuration", BETA, "server, controllers", "Signing requests have expirationSeconds, which the signer honors.",
          Drop(field="certificates/v1.CertificateSigningRequestSpec.expirationSeconds", update=KEPT)),
    _gate("CustomResourceValidationExpressions", ALPHA, "server", "Schemas of custom kinds have rules in CEL.",
          "apiextensions/v1.JSONSchemaProps.x-{long}-validations", stock=True,
          later=(("1.25", BETA), ("1.29", GA))),
    _gate("DaemonSetUpdateSurge", BETA, "server, controllers", "Rolling updates of daemon sets have maxSurge.",
          Drop(field="apps/v1.RollingUpdateDaemonSet.maxSurge", replacement=0, rule="surge")),
    _gate("DownwardAPIHugePages", BETA, "server", "Pods refer to their limits of huge pages in environment and volumes.",
          tolerates=(Drop(field="core/v1.ResourceFieldSelector.resource", rule="huge_pages"),)),
    _gate("DryRun", GA_UNLOCKED, "server", "Writes with dryRun; off: they are rejected."),
    _gate("Dynamic{Short}letConfig", DEPRECATED, "server", "Nodes have spec.configSource and status.config.",
          "core/v1.NodeSpec.configSource", Drop(field="core/v1.NodeStatus.config", use="status")),
    _gate("EfficientWatchResumption", BETA, "server",
          "Bookmarks of watches carry the newest revision of the store; off: that of the last change of the resource."),
    _gate("EndpointSliceTerminatingCondition", BETA, "server, controllers",
          "Endpoints have the conditions serving and terminating, and slices list terminating pods.",
          *(f"discovery/{version}.EndpointConditions.{field}" for version in ("v1", "v1beta1") for field in ("serving", "terminating"))),
    _gate("EphemeralContainers", BETA, "server", "Pods have ephemeral containers.",
          "core/v1.PodSpec.ephemeralContainers", subresources=("pods/ephemeralcontainers",)),
    _gate("ExpandCSIVolumes", BETA, "server", "Volumes of CSI drivers name a secret for expansion.",
          "core/v1.PersistentVolume.spec.csi.controllerExpandSecretRef"),
    _gate("ExpandPersistentVolumes", BETA, "server, controllers", "Claims grow; off: no controller expands volumes.",
          Drop(field="storage/v1.StorageClass.allowVolumeExpansion", update=KEPT),
          Drop(field="core/v1.PersistentVolumeClaimStatus.conditions", use="conditions"),
          controllers=("persistentvolume-expander",)),
    _gate("ExpandedDNSConfig", ALPHA, "server", "Pods have up to 32 search domains of 2048 characters."),
    _gate("HPAContainerMetrics", ALPHA, "server, controllers", "Autoscalers measure single containers."),
    _gate("HPAScaleToZero", ALPHA, "server", "Autoscalers have minReplicas 0."),
    _gate("IdentifyPodOS", ALPHA, "server", "Pods name their operating system.", "core/v1.PodSpec.os",
          tolerates=(Drop(field="core/v1.PodSpec.os"),)),
    _gate("JobMutableNodeSchedulingDirectives", BETA, "server", "Scheduling directives of suspended jobs change."),
    _gate("LocalStorageCapacityIsolation", BETA, "server, scheduler",
          "Local ephemeral storage is a resource; off: no size limit of emptyDir, and the scheduler ignores it.",
          "core/v1.EmptyDirVolumeSource.sizeLimit"),
    _gate("MixedProtocolLBService", ALPHA, "server", "Load balancers have ports of different protocols."),
    _gate("NetworkPolicyEndPort", BETA, "server", "Network policies have ranges of ports.",
          "networking/v1.NetworkPolicyPort.endPort"),
    _gate("NonPreemptingPriority", BETA, "server", "Priority classes and pods have a preemption policy.",
          "scheduling/v1.PriorityClass.preemptionPolicy", "core/v1.PodSpec.preemptionPolicy"),
    _gate("OpenAPIEnums", ALPHA, "server", "OpenAPI documents list the known values of strings."),
    # On as in release 1.24: only newer clients look for it.
    _gate("OpenAPIV3", Stage("alpha", True), "server", "OpenAPI v3 documents are served."),
    _gate("PodAffinityNamespaceSelector", BETA, "server, scheduler", "Affinity of pods selects namespaces by labels.",
          "core/v1.PodAffinityTerm.namespaceSelector",
          tolerates=(Drop(field="core/v1.ResourceQuotaSpec.scopes", rule="across_namespaces"),
                     Drop(field="core/v1.ScopedResourceSelectorRequirement.scopeName", rule="across_namespaces"))),
    _gate("PodDeletionCost", BETA, "server, controllers", "An annotation ranks pods for scaling down."),
    _gate("PodOverhead", BETA, "server, scheduler", "Runtime classes and pods have an overhead, which counts for quotas and nodes.",
          Drop(field="node/v1.RuntimeClass.overhead", update=KEPT), "core/v1.PodSpec.overhead"),
    _gate("PodSecurity", BETA, "server", "The admission plugin PodSecurity.", plugins=("PodSecurity",)),
    _gate("ProbeTerminationGracePeriod", BETA_OFF, "server", "Liveness and startup probes have a grace period.",
          *(f"core/v1.{container}.{probe}.terminationGracePeriodSeconds"
            for container in ("Container", "EphemeralContainer") for probe in ("livenessProbe", "startupProbe"))),
    _gate("ProcMountType", ALPHA, "server", "Containers choose the mount of /proc.",
          Drop(field="core/v1.SecurityContext.procMount", replacement="Default", rule="unusual_mount"),
          Drop(field="policy/v1beta1.PodSecurityPolicySpec.allowedProcMountTypes")),
    _gate("ReadWriteOncePod", ALPHA, "server, scheduler", "Volumes have the access mode ReadWriteOncePod.",
          tolerates=tuple(Drop(field=f"core/v1.{spec}.accessModes", rule="single_pod")
                          for spec in ("PersistentVolumeSpec", "PersistentVolumeClaimSpec"))),
    _gate("RecoverVolumeExpansionFailure", ALPHA, "server",
          "The request of a claim shrinks to a size above its capacity after a failed expansion.",
          Drop(field="core/v1.PersistentVolumeClaimStatus.allocatedResources", use="resources"),
          Drop(field="core/v1.PersistentVolumeClaimStatus.resizeStatus", use="status")),
    _gate("RemainingItemCount", BETA, "server", "Pages of lists say how many items remain."),
    _gate("RemoveSelfLink", BETA, "server", "Objects have no metadata.selfLink; off: they have."),
    _gate("ServerSideFieldValidation", ALPHA, "server", "Writes without fieldValidation get warnings on unknown fields."),
    _gate("ServiceInternalTrafficPolicy", BETA, "server", "Services have internalTrafficPolicy.",
          "core/v1.ServiceSpec.internalTrafficPolicy"),
    _gate("ServiceLBNodePortControl", BETA, "server", "Load balancers choose whether they need node ports.",
          "core/v1.ServiceSpec.allocateLoadBalancerNodePorts"),
    _gate("ServiceLoadBalancerClass", BETA, "server", "Services choose a load balancer by class.",
          "core/v1.ServiceSpec.loadBalancerClass"),
    _gate("StorageVersionAPI", ALPHA, "server",
          "Servers record the versions in which they store each resource; needs APIServerIdentity."),
    _gate("StorageVersionHash", BETA, "server", "Discovery has a hash of each resource's storage version."),
    _gate("WindowsHostProcessContainers", BETA, "server", "Windows containers run as processes of the host.",
          tolerates=(Drop(field="core/v1.WindowsSecurityContextOptions.hostProcess"),)),
    # -- the controllers
    _gate("ControllerManagerLeaderMigration", BETA, "controllers", "None here: controllers migrate to cloud providers only."),
    _gate("IndexedJob", BETA, "server, controllers", "Jobs have a completion mode.", "batch/v1.Job.spec.completionMode"),
    _gate("JobReadyPods", ALPHA, "controllers", "Jobs count their ready pods in status.ready."),
    _gate("JobTrackingWithFinalizers", BETA_OFF, "server, controllers",
          "Finished pods of jobs are counted before they may go, with the help of a finalizer.",
          Drop(field="batch/v1.Job.metadata.annotations", prefix="batch.{long}.io/job-tracking")),
    _gate("LogarithmicScaleDown", BETA, "controllers", "Pods of about the same age go in random order when sets shrink."),
    _gate("StatefulSetAutoDeletePVC", ALPHA, "server, controllers", "Stateful sets have a retention policy for claims.",
          "apps/v1.StatefulSetSpec.persistentVolumeClaimRetentionPolicy"),
    _gate("StatefulSetMinReadySeconds", BETA, "server, controllers", "Stateful sets have minReadySeconds.",
          Drop(field="apps/v1.StatefulSetSpec.minReadySeconds", update=KEPT)),
    _gate("SuspendJob", BETA, "server, controllers", "Jobs are suspended and resumed.",
          Drop(field="batch/v1.Job.spec.suspend", rule="suspended", update=STORED)),
    _gate("TopologyAwareHints", BETA_OFF, "server, controllers",
          "Endpoints have hints for zones, which the controller of slices computes from the processors of zones if an annotation asks for it.",
          "discovery/v1.Endpoint.hints", "discovery/v1beta1.Endpoint.hints"),
    # -- the scheduler
    _migration("CSIMigrationAWS", BETA),
    _migration("CSIMigrationAzureDisk", BETA),
    _migration("CSIMigrationAzureFile", BETA_OFF),
    _migration("CSIMigrationGCE", BETA),
    _migration("CSIMigrationOpenStack", BETA),
    _migration("CSIMigrationPortworx", ALPHA),
    _migration("CSIMigrationvSphere", BETA_OFF),
    _migration("csiMigrationRBD", ALPHA),
    _gate("DefaultPodTopologySpread", BETA, "scheduler",
          "Pods of a service or set are spread by constraints; off: by the plugin SelectorSpread."),
    _gate("PreferNominatedNode", BETA, "scheduler", "A pod that preempted others is tried on its nominated node first."),
    _gate("VolumeCapacityPriority", ALPHA, "scheduler", "Nodes are scored by the volumes that fit a claim best."),
    # -- graduated and deprecated
    _gate("AdvancedAuditing", GA_UNLOCKED, "server", "None, as in the reference: auditing is configured by its flags."),
    _gate("ServerSideApply", GA_UNLOCKED, "server",
          "Configurations are applied, and objects record the managers of their fields; off: neither."),
    _gate("StreamingProxyRedirects", DEPRECATED, "server", "None here: redirects of nodes are never followed."),
    _gate("ValidateProxyRedirects", DEPRECATED_ON, "server", "None here: redirects of nodes are never followed."),
    *_always(
        "CSIServiceAccountToken", "CSIVolumeFSGroupPolicy", "ConfigurableFSGroupPolicy", "EndpointSlice", "EndpointSliceNodeName",
        "EndpointSliceProxying", "GenericEphemeralVolume", "HugePageStorageMediumSize", "IPv6DualStack",
        "ImmutableEphemeralVolumes", "IngressClassNamespacedParams", "NamespaceDefaultLabelName", "PodDisruptionBudget",
        "RuntimeClass", "SelectorIndex", "SetHostnameAsFQDN", "StorageObjectInUseProtection", "TTLAfterFinished", "VolumeSubpath",
        "WarningHeaders", "WatchBookmark", "WindowsEndpointSliceProxying",
    ),
    # -- components that are not here
    *_elsewhere("node", GA_UNLOCKED, "ExecProbeTimeout"),
    *_elsewhere(
        "node", BETA, "CPUManager", "CPUManagerPolicyBetaOptions", "CPUManagerPolicyOptions", "DelegateFSGroupToCSIDriver",
        "DevicePlugins", "DisableAcceleratorUsageMetrics", "ExpandInUsePersistentVolumes", "GracefulNodeShutdown", "MemoryManager",
        "Rotate{Short}letServerCertificate", "SizeMemoryBackedVolumes", "TopologyManager", "WinOverlay", "{Short}letPodResources",
        "{Short}letPodResourcesGetAllocatable",
    ),
    *_elsewhere("node", BETA_OFF, "ExperimentalHostUserNamespaceDefaulting"),
    *_elsewhere(
        "node", ALPHA, "CPUManagerPolicyAlphaOptions", "CSIVolumeHealth", "HonorPVReclaimPolicy", "CustomCPUCFSQuotaPeriod",
        "Disable{Short}letCloudCredentialProviders", "GRPCContainerProbe", "GracefulNodeShutdownBasedOnPodPriority",
        "LocalStorageCapacityIsolationFSQuotaMonitoring", "MemoryQoS", "NodeSwap", "PodAndContainerStatsFromCRI",
        "ProxyTerminatingEndpoints", "QOSReserved", "SeccompDefault", "WinDSR", "{Short}letCredentialProviders",
        "{Short}letInUserNamespace",
    ),
    *_elsewhere(
        "cloud", ALPHA, "DisableCloudProviders", "InTreePluginAWSUnregister", "InTreePluginAzureDiskUnregister",
        "InTreePluginAzureFileUnregister", "InTreePluginGCEUnregister", "InTreePluginOpenStackUnregister",
        "InTreePluginPortworxUnregister", "InTreePluginRBDUnregister", "InTreePluginvSphereUnregister",
    ),
))

GATES: Final[tuple[Gate, ...]] = tuple(
    sorted((*map(_with_history, _FIRST), *_later()), key=lambda gate: gate.name.lower())
)


@cache
def defaults(release: Release = SPECIFICATION) -> Mapping[str, bool]:
    """Default in a release by name (a template) of each gate of any release."""
    return {gate.name: gate.default(release) for gate in GATES}


def enabled(features: Mapping[str, bool], name: str, release: Release = SPECIFICATION) -> bool:
    """The value of a gate: the given one, or the default of the release. Raises KeyError for a name that no row has."""
    setting = features.get(name)
    return defaults(release)[name] if setting is None else setting


@cache
def _begun(release: Release) -> Mapping[str, bool]:
    """The defaults of the gates that exist in a release, or existed before it."""
    return {gate.name: gate.default(release) for gate in GATES if release.includes(gate.stages[0][0])}


def disabled(features: Mapping[str, bool], release: Release = SPECIFICATION) -> frozenset[str]:
    """The gates that are off, of those that a release has or had."""
    return frozenset(name for name, value in {**_begun(release), **features}.items() if not value)


def skipped(features: Mapping[str, bool], attribute: str, release: Release) -> frozenset[str]:
    """Names that are disabled in a release by gates that are off: `attribute` is one of controllers, plugins
    and subresources."""
    off = disabled(features, release)
    return frozenset(name for gate in GATES if gate.name in off for name in getattr(gate, attribute))
