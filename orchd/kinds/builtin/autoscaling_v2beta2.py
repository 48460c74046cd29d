"""autoscaling/v2beta2: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import autoscaling_v2
from orchd.kinds.rows import Conversion, Deprecation, Row, VersionRow, same_types

GROUP: Final = "autoscaling"
VERSION: Final = "v2beta2"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.autoscaling.v2beta2."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="HorizontalPodAutoscaler",
        of="autoscaling/v2",
        deprecated=Deprecation(since="v1.23", removed="v1.26", replacement="autoscaling/v2"),
        conversion=Conversion("conversions.renames.same", "conversions.renames.same"),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    **same_types(
        autoscaling_v2.TYPES,
        "ContainerResourceMetricSource ContainerResourceMetricStatus CrossVersionObjectReference "
        "ExternalMetricSource ExternalMetricStatus HPAScalingPolicy HorizontalPodAutoscaler "
        "HorizontalPodAutoscalerBehavior HorizontalPodAutoscalerCondition HorizontalPodAutoscalerList "
        "MetricIdentifier MetricSpec MetricStatus MetricTarget MetricValueStatus ObjectMetricSource "
        "ObjectMetricStatus PodsMetricSource PodsMetricStatus ResourceMetricSource ResourceMetricStatus",
    ),
    "HPAScalingRules": (
        ("stabilizationWindowSeconds", 3, "int32", "omit ptr"),
        ("selectPolicy", 1, "string", "omit ptr"),
        ("policies", 2, "[]HPAScalingPolicy", "omit"),
    ),
    "HorizontalPodAutoscalerSpec": (
        ("scaleTargetRef", 1, "CrossVersionObjectReference", "required"),
        ("minReplicas", 2, "int32", "omit ptr"),
        ("maxReplicas", 3, "int32", "required"),
        ("metrics", 4, "[]MetricSpec", "omit"),
        ("behavior", 5, "HorizontalPodAutoscalerBehavior", "omit ptr"),
    ),
    "HorizontalPodAutoscalerStatus": (
        ("observedGeneration", 1, "int64", "omit ptr"),
        ("lastScaleTime", 2, "time", "omit ptr"),
        ("currentReplicas", 3, "int32", "required"),
        ("desiredReplicas", 4, "int32", "required"),
        ("currentMetrics", 5, "[]MetricStatus", ""),
        ("conditions", 6, "[]HorizontalPodAutoscalerCondition", ""),
    ),
}
