"""autoscaling/v2beta2: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import autoscaling_v2, autoscaling_v2beta1
from orchd.kinds.rows import Conversion, Deprecation, Row, Types, VersionRow, same_types

GROUP: Final = "autoscaling"
VERSION: Final = "v2beta2"
DEFINITIONS: Final = "io.{abbr}.api.autoscaling.v2beta2."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="HorizontalPodAutoscaler",
        of="autoscaling/v2",
        deprecated=Deprecation(since="v1.23", removed="v1.26", replacement="autoscaling/v2"),
        conversion=Conversion("conversions.renames.same", "conversions.renames.same"),
    ),
)

TYPES: Final[Types] = {
    **same_types(autoscaling_v2beta1.TYPES, "HorizontalPodAutoscalerStatus"),
    **same_types(
        autoscaling_v2.TYPES,
        "ContainerResourceMetricSource ContainerResourceMetricStatus CrossVersionObjectReference "
        "ExternalMetricSource ExternalMetricStatus HPAScalingPolicy HorizontalPodAutoscaler "
        "HorizontalPodAutoscalerBehavior HorizontalPodAutoscalerCondition "
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
}
