"""autoscaling/v2beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import autoscaling_v1, autoscaling_v2
from orchd.kinds.rows import Conversion, Deprecation, Row, Types, VersionRow, same_types

GROUP: Final = "autoscaling"
VERSION: Final = "v2beta1"
DEFINITIONS: Final = "io.{abbr}.api.autoscaling.v2beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="HorizontalPodAutoscaler",
        of="autoscaling/v2",
        deprecated=Deprecation(since="v1.22", removed="v1.25", replacement="autoscaling/v2"),
        conversion=Conversion("conversions.autoscalers.from_v2beta1", "conversions.autoscalers.to_v2beta1", annotates=True),
    ),
)

TYPES: Final[Types] = {
    **same_types(autoscaling_v2.TYPES, "MetricSpec MetricStatus"),
    **same_types(
        autoscaling_v1.TYPES,
        "ContainerResourceMetricStatus CrossVersionObjectReference ExternalMetricSource ExternalMetricStatus "
        "HorizontalPodAutoscaler HorizontalPodAutoscalerCondition "
        "ObjectMetricSource ObjectMetricStatus PodsMetricSource PodsMetricStatus ResourceMetricSource "
        "ResourceMetricStatus",
    ),
    "ContainerResourceMetricSource": (
        ("name", 1, "string", "required"),
        ("targetAverageUtilization", 2, "int32", "omit ptr"),
        ("targetAverageValue", 3, "quantity", "omit ptr"),
        ("container", 4, "string", "required"),
    ),
    "HorizontalPodAutoscalerSpec": (
        ("scaleTargetRef", 1, "CrossVersionObjectReference", "required"),
        ("minReplicas", 2, "int32", "omit ptr"),
        ("maxReplicas", 3, "int32", "required"),
        ("metrics", 4, "[]MetricSpec", "omit"),
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
