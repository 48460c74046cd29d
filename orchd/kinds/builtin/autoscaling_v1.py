"""autoscaling/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import CONDITION, Conversion, KindRow, Row, Table, Types, Validation, VersionRow, object_types

GROUP: Final = "autoscaling"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.autoscaling.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "ContainerResourceMetricSource ContainerResourceMetricStatus ExternalMetricSource ExternalMetricStatus "
        "HorizontalPodAutoscalerCondition MetricSpec MetricStatus ObjectMetricSource ObjectMetricStatus "
        "PodsMetricSource PodsMetricStatus ResourceMetricSource ResourceMetricStatus"
    ).split()
)
ATOMIC: Final[frozenset[str]] = frozenset(("CrossVersionObjectReference",))

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="HorizontalPodAutoscaler",
        of="autoscaling/v2",
        conversion=Conversion("conversions.autoscalers.from_v1", "conversions.autoscalers.to_v1", annotates=True),
    ),
    KindRow(
        kind="Scale",
        table=Table(
            "tabulate.workloads.scale",
            ("Name", "Desired|integer", "Available|integer", "Age"),
            {"Desired": "Desired number of replicas.", "Available": "Number of replicas that exist."},
        ),
        validation=Validation(create="validate.autoscaling.scale", update="validate.autoscaling.update_scale"),
    ),
)

TYPES: Final[Types] = {
    **object_types("HorizontalPodAutoscaler Scale"),
    "ContainerResourceMetricSource": (
        ("name", 1, "string", "required"),
        ("targetAverageUtilization", 2, "int32", "omit ptr"),
        ("targetAverageValue", 3, "quantity", "omit ptr"),
        ("container", 5, "string", "required"),
    ),
    "ContainerResourceMetricStatus": (
        ("name", 1, "string", "required"),
        ("currentAverageUtilization", 2, "int32", "omit ptr"),
        ("currentAverageValue", 3, "quantity", "required"),
        ("container", 4, "string", "required"),
    ),
    "CrossVersionObjectReference": (
        ("kind", 1, "string", "required"),
        ("name", 2, "string", "required"),
        ("apiVersion", 3, "string", "omit"),
    ),
    "ExternalMetricSource": (
        ("metricName", 1, "string", "required"),
        ("metricSelector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("targetValue", 3, "quantity", "omit ptr"),
        ("targetAverageValue", 4, "quantity", "omit ptr"),
    ),
    "ExternalMetricStatus": (
        ("metricName", 1, "string", "required"),
        ("metricSelector", 2, "meta/v1.LabelSelector", "omit ptr"),
        ("currentValue", 3, "quantity", "required"),
        ("currentAverageValue", 4, "quantity", "omit ptr"),
    ),
    "HorizontalPodAutoscalerCondition": CONDITION,
    "HorizontalPodAutoscalerSpec": (
        ("scaleTargetRef", 1, "CrossVersionObjectReference", "required"),
        ("minReplicas", 2, "int32", "omit ptr"),
        ("maxReplicas", 3, "int32", "required"),
        ("targetCPUUtilizationPercentage", 4, "int32", "omit ptr"),
    ),
    "HorizontalPodAutoscalerStatus": (
        ("observedGeneration", 1, "int64", "omit ptr"),
        ("lastScaleTime", 2, "time", "omit ptr"),
        ("currentReplicas", 3, "int32", "required"),
        ("desiredReplicas", 4, "int32", "required"),
        ("currentCPUUtilizationPercentage", 5, "int32", "omit ptr"),
    ),
    "MetricSpec": (
        ("type", 1, "string", "required enum=ContainerResource|External|Object|Pods|Resource@1.35"),
        ("object", 2, "ObjectMetricSource", "omit ptr"),
        ("pods", 3, "PodsMetricSource", "omit ptr"),
        ("resource", 4, "ResourceMetricSource", "omit ptr"),
        ("containerResource", 7, "ContainerResourceMetricSource", "omit ptr"),
        ("external", 5, "ExternalMetricSource", "omit ptr"),
    ),
    "MetricStatus": (
        ("type", 1, "string", "required enum=ContainerResource|External|Object|Pods|Resource@1.35"),
        ("object", 2, "ObjectMetricStatus", "omit ptr"),
        ("pods", 3, "PodsMetricStatus", "omit ptr"),
        ("resource", 4, "ResourceMetricStatus", "omit ptr"),
        ("containerResource", 7, "ContainerResourceMetricStatus", "omit ptr"),
        ("external", 5, "ExternalMetricStatus", "omit ptr"),
    ),
    "ObjectMetricSource": (
        ("target", 1, "CrossVersionObjectReference", "required"),
        ("metricName", 2, "string", "required"),
        ("targetValue", 3, "quantity", "required"),
        ("selector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("averageValue", 5, "quantity", "omit ptr"),
    ),
    "ObjectMetricStatus": (
        ("target", 1, "CrossVersionObjectReference", "required"),
        ("metricName", 2, "string", "required"),
        ("currentValue", 3, "quantity", "required"),
        ("selector", 4, "meta/v1.LabelSelector", "omit ptr"),
        ("averageValue", 5, "quantity", "omit ptr"),
    ),
    "PodsMetricSource": (
        ("metricName", 1, "string", "required"),
        ("targetAverageValue", 2, "quantity", "required"),
        ("selector", 3, "meta/v1.LabelSelector", "omit ptr"),
    ),
    "PodsMetricStatus": (
        ("metricName", 1, "string", "required"),
        ("currentAverageValue", 2, "quantity", "required"),
        ("selector", 3, "meta/v1.LabelSelector", "omit ptr"),
    ),
    "ResourceMetricSource": (
        ("name", 1, "string", "required"),
        ("targetAverageUtilization", 2, "int32", "omit ptr"),
        ("targetAverageValue", 3, "quantity", "omit ptr"),
    ),
    "ResourceMetricStatus": (
        ("name", 1, "string", "required"),
        ("currentAverageUtilization", 2, "int32", "omit ptr"),
        ("currentAverageValue", 3, "quantity", "required"),
    ),
    "ScaleSpec": (("replicas", 1, "int32", "omit default=0@1.35"),),
    "ScaleStatus": (("replicas", 1, "int32", "required"), ("selector", 2, "string", "omit")),
}
