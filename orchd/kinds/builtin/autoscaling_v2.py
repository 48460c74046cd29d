"""autoscaling/v2: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import autoscaling_v1
from orchd.kinds.rows import Conversion, KindRow, Row, Subresource, Table, Types, Validation, same_types

GROUP: Final = "autoscaling"
VERSION: Final = "v2"
DEFINITIONS: Final = "io.{abbr}.api.autoscaling.v2."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="HorizontalPodAutoscaler",
        plural="horizontalpodautoscalers",
        namespaced=True,
        short_names=("hpa",),
        categories=("all",),
        key="horizontalpodautoscalers",
        storage_version="autoscaling/v1",
        changes=(("1.30", {"storage_version": "autoscaling/v2"}),),
        conversion=Conversion("conversions.renames.same", "conversions.renames.same"),
        table=Table(
            "tabulate.workloads.autoscaler",
            ("Name|name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
            {
                "Reference": (
                    "scaleTargetRef points to the target resource to scale, and is used to the pods for which "
                    "metrics should be collected, as well as to actually change the replica count."
                ),
                "Targets": (
                    "metrics contains the specifications for which to use to calculate the desired replica count "
                    "(the maximum replica count across all metrics will be used).  The desired replica count is "
                    "calculated multiplying the ratio between the target value and the current value by the "
                    "current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and "
                    "vice-versa.  See the individual metric source types for more information about how each type "
                    "of metric must respond."
                ),
                "MinPods": (
                    "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale "
                    "down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate "
                    "HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling "
                    "is active as long as at least one metric value is available."
                ),
                "MaxPods": (
                    "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale "
                    "up. It cannot be less that minReplicas."
                ),
                "Replicas": (
                    "currentReplicas is current number of replicas of pods managed by this autoscaler, as last "
                    "seen by the autoscaler."
                ),
            },
            printers=(("1.30", "tabulate.workloads.autoscaler_with_names"),),
        ),
        strategy="AutoscalerStrategy",
        validation=Validation(create="validate.autoscaling.create", update="validate.autoscaling.update"),
        subresources=(Subresource(name="status", update="validate.autoscaling.update_status"),),
    ),
)

TYPES: Final[Types] = {
    **same_types(
        autoscaling_v1.TYPES,
        "CrossVersionObjectReference HorizontalPodAutoscaler HorizontalPodAutoscalerCondition ",
    ),
    "ContainerResourceMetricSource": (
        ("name", 1, "string", "required"),
        ("target", 2, "MetricTarget", "required"),
        ("container", 3, "string", "required"),
    ),
    "ContainerResourceMetricStatus": (
        ("name", 1, "string", "required"),
        ("current", 2, "MetricValueStatus", "required"),
        ("container", 3, "string", "required"),
    ),
    "ExternalMetricSource": (("metric", 1, "MetricIdentifier", "required"), ("target", 2, "MetricTarget", "required")),
    "ExternalMetricStatus": (
        ("metric", 1, "MetricIdentifier", "required"),
        ("current", 2, "MetricValueStatus", "required"),
    ),
    "HPAScalingPolicy": (
        ("type", 1, "string", "required"),
        ("value", 2, "int32", "required"),
        ("periodSeconds", 3, "int32", "required"),
    ),
    "HPAScalingRules": (
        ("stabilizationWindowSeconds", 3, "int32", "omit ptr"),
        ("selectPolicy", 1, "string", "omit ptr"),
        ("policies", 2, "[]HPAScalingPolicy", "omit list=atomic"),
        ("tolerance", 4, "quantity", "omit ptr since=1.33"),
    ),
    "HorizontalPodAutoscalerBehavior": (
        ("scaleUp", 1, "HPAScalingRules", "omit ptr"),
        ("scaleDown", 2, "HPAScalingRules", "omit ptr"),
    ),
    "HorizontalPodAutoscalerSpec": (
        ("scaleTargetRef", 1, "CrossVersionObjectReference", "required"),
        ("minReplicas", 2, "int32", "omit ptr"),
        ("maxReplicas", 3, "int32", "required"),
        ("metrics", 4, "[]MetricSpec", "omit list=atomic"),
        ("behavior", 5, "HorizontalPodAutoscalerBehavior", "omit ptr"),
    ),
    "HorizontalPodAutoscalerStatus": (
        ("observedGeneration", 1, "int64", "omit ptr"),
        ("lastScaleTime", 2, "time", "omit ptr"),
        ("currentReplicas", 3, "int32", "omit"),
        ("desiredReplicas", 4, "int32", "required"),
        ("currentMetrics", 5, "[]MetricStatus", "list=atomic"),
        ("conditions", 6, "[]HorizontalPodAutoscalerCondition", "omit merge=type keys=type"),
    ),
    "MetricIdentifier": (("name", 1, "string", "required"), ("selector", 2, "meta/v1.LabelSelector", "omit ptr")),
    "MetricSpec": (
        ("type", 1, "string", "required"),
        ("object", 2, "ObjectMetricSource", "omit ptr"),
        ("pods", 3, "PodsMetricSource", "omit ptr"),
        ("resource", 4, "ResourceMetricSource", "omit ptr"),
        ("containerResource", 7, "ContainerResourceMetricSource", "omit ptr"),
        ("external", 5, "ExternalMetricSource", "omit ptr"),
    ),
    "MetricStatus": (
        ("type", 1, "string", "required"),
        ("object", 2, "ObjectMetricStatus", "omit ptr"),
        ("pods", 3, "PodsMetricStatus", "omit ptr"),
        ("resource", 4, "ResourceMetricStatus", "omit ptr"),
        ("containerResource", 7, "ContainerResourceMetricStatus", "omit ptr"),
        ("external", 5, "ExternalMetricStatus", "omit ptr"),
    ),
    "MetricTarget": (
        ("type", 1, "string", "required"),
        ("value", 2, "quantity", "omit ptr"),
        ("averageValue", 3, "quantity", "omit ptr"),
        ("averageUtilization", 4, "int32", "omit ptr"),
    ),
    "MetricValueStatus": (
        ("value", 1, "quantity", "omit ptr"),
        ("averageValue", 2, "quantity", "omit ptr"),
        ("averageUtilization", 3, "int32", "omit ptr"),
    ),
    "ObjectMetricSource": (
        ("describedObject", 1, "CrossVersionObjectReference", "required"),
        ("target", 2, "MetricTarget", "required"),
        ("metric", 3, "MetricIdentifier", "required"),
    ),
    "ObjectMetricStatus": (
        ("metric", 1, "MetricIdentifier", "required"),
        ("current", 2, "MetricValueStatus", "required"),
        ("describedObject", 3, "CrossVersionObjectReference", "required"),
    ),
    "PodsMetricSource": (("metric", 1, "MetricIdentifier", "required"), ("target", 2, "MetricTarget", "required")),
    "PodsMetricStatus": (
        ("metric", 1, "MetricIdentifier", "required"),
        ("current", 2, "MetricValueStatus", "required"),
    ),
    "ResourceMetricSource": (("name", 1, "string", "required"), ("target", 2, "MetricTarget", "required")),
    "ResourceMetricStatus": (("name", 1, "string", "required"), ("current", 2, "MetricValueStatus", "required")),
}
