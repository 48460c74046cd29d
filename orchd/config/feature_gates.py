"""Feature gates of release 1.23: names, stages, defaults, and those whose value cannot be changed yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchd.config.nearest import unknown
from orchd.dialect import Dialect

#: (name template, stage, default)
GATES: Final[tuple[tuple[str, str, bool], ...]] = (
    ("APIListChunking", "beta", True),
    ("APIPriorityAndFairness", "beta", True),
    ("APIResponseCompression", "beta", True),
    ("AppArmor", "beta", True),
    ("ControllerManagerLeaderMigration", "beta", True),
    ("CPUManager", "beta", True),
    ("CPUManagerPolicyBetaOptions", "beta", True),
    ("CPUManagerPolicyOptions", "beta", True),
    ("CSIInlineVolume", "beta", True),
    ("CSIMigration", "beta", True),
    ("CSIMigrationAWS", "beta", True),
    ("CSIMigrationAzureDisk", "beta", True),
    ("CSIMigrationAzureFile", "beta", False),
    ("CSIMigrationGCE", "beta", True),
    ("CSIMigrationOpenStack", "beta", True),
    ("CSIMigrationvSphere", "beta", False),
    ("CSIStorageCapacity", "beta", True),
    ("CSRDuration", "beta", True),
    ("DaemonSetUpdateSurge", "beta", True),
    ("DefaultPodTopologySpread", "beta", True),
    ("DelegateFSGroupToCSIDriver", "beta", True),
    ("DevicePlugins", "beta", True),
    ("DisableAcceleratorUsageMetrics", "beta", True),
    ("DownwardAPIHugePages", "beta", True),
    ("EfficientWatchResumption", "beta", True),
    ("EndpointSliceTerminatingCondition", "beta", True),
    ("EphemeralContainers", "beta", True),
    ("ExpandCSIVolumes", "beta", True),
    ("ExpandInUsePersistentVolumes", "beta", True),
    ("ExpandPersistentVolumes", "beta", True),
    ("ExperimentalHostUserNamespaceDefaulting", "beta", False),
    ("GracefulNodeShutdown", "beta", True),
    ("IndexedJob", "beta", True),
    ("JobMutableNodeSchedulingDirectives", "beta", True),
    ("JobTrackingWithFinalizers", "beta", False),
    ("LocalStorageCapacityIsolation", "beta", True),
    ("LogarithmicScaleDown", "beta", True),
    ("MemoryManager", "beta", True),
    ("NetworkPolicyEndPort", "beta", True),
    ("NonPreemptingPriority", "beta", True),
    ("PodAffinityNamespaceSelector", "beta", True),
    ("PodDeletionCost", "beta", True),
    ("PodOverhead", "beta", True),
    ("PodSecurity", "beta", True),
    ("PreferNominatedNode", "beta", True),
    ("ProbeTerminationGracePeriod", "beta", False),
    ("RemainingItemCount", "beta", True),
    ("RemoveSelfLink", "beta", True),
    ("Rotate{Short}letServerCertificate", "beta", True),
    ("ServiceInternalTrafficPolicy", "beta", True),
    ("ServiceLBNodePortControl", "beta", True),
    ("ServiceLoadBalancerClass", "beta", True),
    ("SizeMemoryBackedVolumes", "beta", True),
    ("StatefulSetMinReadySeconds", "beta", True),
    ("StorageVersionHash", "beta", True),
    ("SuspendJob", "beta", True),
    ("TopologyAwareHints", "beta", False),
    ("TopologyManager", "beta", True),
    ("WindowsHostProcessContainers", "beta", True),
    ("WinOverlay", "beta", True),
    ("{Short}letPodResources", "beta", True),
    ("{Short}letPodResourcesGetAllocatable", "beta", True),
    ("AnyVolumeDataSource", "alpha", False),
    ("APIServerIdentity", "alpha", False),
    ("APIServerTracing", "alpha", False),
    ("CPUManagerPolicyAlphaOptions", "alpha", False),
    ("CSIMigrationPortworx", "alpha", False),
    ("csiMigrationRBD", "alpha", False),
    ("CSIVolumeHealth", "alpha", False),
    ("CustomCPUCFSQuotaPeriod", "alpha", False),
    ("CustomResourceValidationExpressions", "alpha", False),
    ("DisableCloudProviders", "alpha", False),
    ("Disable{Short}letCloudCredentialProviders", "alpha", False),
    ("ExpandedDNSConfig", "alpha", False),
    ("GracefulNodeShutdownBasedOnPodPriority", "alpha", False),
    ("GRPCContainerProbe", "alpha", False),
    ("HonorPVReclaimPolicy", "alpha", False),
    ("HPAContainerMetrics", "alpha", False),
    ("HPAScaleToZero", "alpha", False),
    ("IdentifyPodOS", "alpha", False),
    ("InTreePluginAWSUnregister", "alpha", False),
    ("InTreePluginAzureDiskUnregister", "alpha", False),
    ("InTreePluginAzureFileUnregister", "alpha", False),
    ("InTreePluginGCEUnregister", "alpha", False),
    ("InTreePluginOpenStackUnregister", "alpha", False),
    ("InTreePluginPortworxUnregister", "alpha", False),
    ("InTreePluginRBDUnregister", "alpha", False),
    ("InTreePluginvSphereUnregister", "alpha", False),
    ("JobReadyPods", "alpha", False),
    ("LocalStorageCapacityIsolationFSQuotaMonitoring", "alpha", False),
    ("MemoryQoS", "alpha", False),
    ("MixedProtocolLBService", "alpha", False),
    ("NodeSwap", "alpha", False),
    ("OpenAPIEnums", "alpha", False),
    # On as in release 1.24: only newer clients look for it.
    ("OpenAPIV3", "beta", True),
    ("PodAndContainerStatsFromCRI", "alpha", False),
    ("ProcMountType", "alpha", False),
    ("ProxyTerminatingEndpoints", "alpha", False),
    ("QOSReserved", "alpha", False),
    ("ReadWriteOncePod", "alpha", False),
    ("RecoverVolumeExpansionFailure", "alpha", False),
    ("SeccompDefault", "alpha", False),
    ("ServerSideFieldValidation", "alpha", False),
    ("StatefulSetAutoDeletePVC", "alpha", False),
    ("StorageVersionAPI", "alpha", False),
    ("VolumeCapacityPriority", "alpha", False),
    ("WinDSR", "alpha", False),
    ("{Short}letCredentialProviders", "alpha", False),
    ("{Short}letInUserNamespace", "alpha", False),
)

#: Gates of the API server that are not implemented: a value other than the default is rejected. All other gates are
#: either implemented or belong to other components (nodes, cloud providers); every component accepts those, so that
#: one list can be passed to all.
NOT_BUILT: Final = frozenset((
    "APIServerIdentity", "OpenAPIEnums",
    "StorageVersionAPI",
    # Always on.
    "APIListChunking", "AppArmor", "CSRDuration", "DownwardAPIHugePages", "EfficientWatchResumption",
    "EphemeralContainers", "ExpandPersistentVolumes", "ExpandInUsePersistentVolumes", "LocalStorageCapacityIsolation",
    "NonPreemptingPriority", "PodOverhead", "RemainingItemCount", "RemoveSelfLink", "StorageVersionHash",
    # Always off.
    "RecoverVolumeExpansionFailure",
))

_ALL: Final = {"AllAlpha": "alpha", "AllBeta": "beta"}


def resolve(dialect: Dialect, given: Mapping[str, bool]) -> dict[str, bool]:
    """Values by gate, with ``AllAlpha`` and ``AllBeta`` expanded; a gate's own value takes precedence.

    Raises ValueError for an unknown gate, and for a changed value of a gate that is not implemented.
    """
    defaults = {dialect(name): value for name, _, value in GATES}
    for name in given:
        if name not in defaults and name not in _ALL:
            raise ValueError(unknown("feature gate", name, [*defaults, *_ALL]))
    out: dict[str, bool] = {}
    for group, stage in _ALL.items():
        if group in given:
            out.update((dialect(name), given[group]) for name, its, _ in GATES if its == stage)
    out.update((name, value) for name, value in given.items() if name in defaults)
    for name in sorted(NOT_BUILT & out.keys()):
        if out[name] != defaults[name]:
            raise ValueError(f"feature gate {name}={'true' if out[name] else 'false'}: not built yet")
    return out
