"""Types of the scheduler's configuration, versions v1beta2 and v1beta3 of release 1.23 and v1 of later ones, in the
line format of `orchd.kinds.ir`. Protobuf numbers are 0: the kind has no protobuf form."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.builtin import core_v1, meta_v1
from orchd.kinds.ir import Line, Type, TypeTable
from orchd.kinds.release import NEWEST, SPECIFICATION, Release

GROUP: Final = "{short}scheduler.config.{abbr}.io"
KIND: Final = "{Short}SchedulerConfiguration"
#: Versions by the release that begins them; the newest version is the first.
VERSIONS: Final = (("", ("v1beta3", "v1beta2")), ("1.29", ("v1",)))
#: A release with each version: the one whose types it refers to.
RELEASES: Final = {"v1beta2": SPECIFICATION, "v1beta3": SPECIFICATION, "v1": NEWEST}
#: The scheme location in messages about unknown kinds.
SCHEME: Final = "{abbr}.io/{long}/pkg/scheduler/apis/config/scheme/scheme.go:30"

#: Extension points as the configuration names them, in the order in which it lists them.
POINTS: Final = (
    "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind",
    "postBind",
)  # fmt: skip
MULTI_POINT: Final = "multiPoint"
#: Extension points by version.
VERSION_POINTS: Final = {"v1beta2": POINTS, "v1beta3": POINTS, "v1": ("preEnqueue", *POINTS)}

_PARTS: Final = "componentbase/v1alpha1"
_ADDRESSES: Final = (("healthzBindAddress", 0, "string", "omit ptr"), ("metricsBindAddress", 0, "string", "omit ptr"))
_HEAD: Final = (
    ("parallelism", 0, "int32", "omit ptr"),
    ("leaderElection", 0, f"{_PARTS}.LeaderElectionConfiguration", "required"),
    ("clientConnection", 0, f"{_PARTS}.ClientConnectionConfiguration", "required"),
)
_REST: Final = (
    ("enableProfiling", 0, "bool", "omit ptr"),
    ("enableContentionProfiling", 0, "bool", "omit ptr"),
    ("percentageOfNodesToScore", 0, "int32", "omit ptr"),
    ("podInitialBackoffSeconds", 0, "int64", "omit ptr"),
    ("podMaxBackoffSeconds", 0, "int64", "omit ptr"),
    ("profiles", 0, "[]{Short}SchedulerProfile", "omit"),
    ("extenders", 0, "[]Extender", "omit"),
)

#: Types that both versions have.
_COMMON: Final[dict[str, tuple[Line, ...]]] = {
    "{Short}SchedulerProfile": (
        ("schedulerName", 0, "string", "omit ptr"),
        ("plugins", 0, "Plugins", "omit ptr"),
        ("pluginConfig", 0, "[]PluginConfig", "omit"),
    ),
    "PluginSet": (("enabled", 0, "[]Plugin", "omit"), ("disabled", 0, "[]Plugin", "omit")),
    "Plugin": (("name", 0, "string", "required"), ("weight", 0, "int32", "omit ptr")),
    "PluginConfig": (("name", 0, "string", "required"), ("args", 0, "raw", "omit")),
    "Extender": (
        ("urlPrefix", 0, "string", "required"),
        ("filterVerb", 0, "string", "omit"),
        ("preemptVerb", 0, "string", "omit"),
        ("prioritizeVerb", 0, "string", "omit"),
        ("weight", 0, "int64", "omit"),
        ("bindVerb", 0, "string", "omit"),
        ("enableHTTPS", 0, "bool", "omit"),
        ("tlsConfig", 0, "ExtenderTLSConfig", "omit ptr"),
        ("httpTimeout", 0, "duration", "omit"),
        ("nodeCacheCapable", 0, "bool", "omit"),
        ("managedResources", 0, "[]ExtenderManagedResource", "omit"),
        ("ignorable", 0, "bool", "omit"),
    ),
    "ExtenderTLSConfig": (
        ("insecure", 0, "bool", "omit"),
        ("serverName", 0, "string", "omit"),
        ("certFile", 0, "string", "omit"),
        ("keyFile", 0, "string", "omit"),
        ("caFile", 0, "string", "omit"),
        ("certData", 0, "bytes", "omit"),
        ("keyData", 0, "bytes", "omit"),
        ("caData", 0, "bytes", "omit"),
    ),
    "ExtenderManagedResource": (("name", 0, "string", "required"), ("ignoredByScheduler", 0, "bool", "omit")),
    "DefaultPreemptionArgs": (
        ("minCandidateNodesPercentage", 0, "int32", "omit ptr"),
        ("minCandidateNodesAbsolute", 0, "int32", "omit ptr"),
    ),
    "InterPodAffinityArgs": (("hardPodAffinityWeight", 0, "int32", "omit ptr"),),
    "NodeAffinityArgs": (("addedAffinity", 0, "core/v1.NodeAffinity", "omit ptr"),),
    "NodeResourcesBalancedAllocationArgs": (("resources", 0, "[]ResourceSpec", "omit"),),
    "NodeResourcesFitArgs": (
        ("ignoredResources", 0, "[]string", "omit"),
        ("ignoredResourceGroups", 0, "[]string", "omit"),
        ("scoringStrategy", 0, "ScoringStrategy", "omit ptr"),
    ),
    "PodTopologySpreadArgs": (
        ("defaultConstraints", 0, "[]core/v1.TopologySpreadConstraint", "omit"),
        ("defaultingType", 0, "string", "omit"),
    ),
    "VolumeBindingArgs": (
        ("bindTimeoutSeconds", 0, "int64", "omit ptr"),
        ("shape", 0, "[]UtilizationShapePoint", "omit"),
    ),
    "ScoringStrategy": (
        ("type", 0, "string", "omit"),
        ("resources", 0, "[]ResourceSpec", "omit"),
        ("requestedToCapacityRatio", 0, "RequestedToCapacityRatioParam", "omit ptr"),
    ),
    "RequestedToCapacityRatioParam": (("shape", 0, "[]UtilizationShapePoint", "omit"),),
    "ResourceSpec": (("name", 0, "string", "required"), ("weight", 0, "int64", "omit")),
    "UtilizationShapePoint": (("utilization", 0, "int32", "required"), ("score", 0, "int32", "required")),
}
_BY_VERSION: Final[dict[str, dict[str, tuple[Line, ...]]]] = {
    version: {
        KIND: (*_HEAD, *(_ADDRESSES if version == "v1beta2" else ()), *_REST),
        "Plugins": tuple((name, 0, "PluginSet", "omit") for name in (*points, MULTI_POINT)),
        **_COMMON,
    }
    for version, points in VERSION_POINTS.items()
}
#: Types shared with configurations of other components.
_SHARED: Final[dict[str, tuple[Line, ...]]] = {
    "LeaderElectionConfiguration": (
        ("leaderElect", 0, "bool", "required ptr"),
        ("leaseDuration", 0, "duration", "required"),
        ("renewDeadline", 0, "duration", "required"),
        ("retryPeriod", 0, "duration", "required"),
        ("resourceLock", 0, "string", "required"),
        ("resourceName", 0, "string", "required"),
        ("resourceNamespace", 0, "string", "required"),
    ),
    "ClientConnectionConfiguration": (
        ("{short}config", 0, "string", "required"),
        ("acceptContentTypes", 0, "string", "required"),
        ("contentType", 0, "string", "required"),
        ("qps", 0, "number", "required"),
        ("burst", 0, "int32", "required"),
    ),
}
#: Plugins whose arguments have a type.
CONFIGURABLE: Final = tuple(sorted(name.removesuffix("Args") for name in _COMMON if name.endswith("Args")))


@cache
def table(dialect: Dialect, release: Release) -> TypeTable:
    """The types in a dialect, under names such as ``scheduler/v1beta3.PluginSet``, with those of other groups in a
    release."""
    packages: dict[str, Any] = {
        f"scheduler/{version}": _module(lines, dialect) for version, lines in _BY_VERSION.items()
    }
    return TypeTable(
        dialect, release, {**packages, _PARTS: _module(_SHARED, dialect), "core/v1": core_v1, "meta/v1": meta_v1}
    )


def configuration(version: str, dialect: Dialect) -> Type:
    """The type of the configuration itself."""
    return table(dialect, RELEASES[version]).get(f"scheduler/{version}.{dialect(KIND)}")


def arguments(plugin: str, version: str, dialect: Dialect) -> Type:
    """The type of a plugin's arguments; Raises KeyError if it takes none."""
    return table(dialect, RELEASES[version]).get(f"scheduler/{version}.{plugin}Args")


def api_version(version: str, dialect: Dialect) -> str:
    return f"{dialect(GROUP)}/{version}"


def _module(lines: dict[str, tuple[Line, ...]], dialect: Dialect) -> Any:
    """A stand-in for a module of types, as `TypeTable` reads it."""
    types = {
        dialect(name): tuple((field, number, dialect(spelled), flags) for field, number, spelled, flags in fields)
        for name, fields in lines.items()
    }
    return SimpleNamespace(TYPES=types, DEFINITIONS="")
