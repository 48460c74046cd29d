"""flowcontrol/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.35; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Conversion, Row, Validation, VersionRow

GROUP: Final = "flowcontrol.apiserver.{abbr}.io"
VERSION: Final = "v1"
#: Prefix of the names under which OpenAPI publishes these types.
DEFINITIONS: Final = "io.{abbr}.api.flowcontrol.v1."

#: Types that OpenAPI does not list.
UNPUBLISHED: Final[frozenset[str]] = frozenset()
#: Structs that server-side apply owns as one.
ATOMIC: Final[frozenset[str]] = frozenset()

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(kind="FlowSchema", of="flowcontrol/v1beta2"),
    VersionRow(
        kind="PriorityLevelConfiguration",
        of="flowcontrol/v1beta2",
        conversion=Conversion("conversions.renames.level_from_v1", "conversions.renames.level_to_v1"),
        validation=Validation(
            create="validate.flowcontrol.create_nominal_level", update="validate.flowcontrol.update_nominal_level"
        ),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "ExemptPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", 1, "int32", "omit ptr"),
        ("lendablePercent", 2, "int32", "omit ptr"),
    ),
    "FlowDistinguisherMethod": (("type", 1, "string", "required"),),
    "FlowSchema": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "FlowSchemaSpec", "omit"),
        ("status", 3, "FlowSchemaStatus", "omit"),
    ),
    "FlowSchemaCondition": (
        ("type", 1, "string", "omit"),
        ("status", 2, "string", "omit"),
        ("lastTransitionTime", 3, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
    ),
    "FlowSchemaList": (("metadata", 1, "meta/v1.ListMeta", "omit"), ("items", 2, "[]FlowSchema", "required")),
    "FlowSchemaSpec": (
        ("priorityLevelConfiguration", 1, "PriorityLevelConfigurationReference", "required"),
        ("matchingPrecedence", 2, "int32", ""),
        ("distinguisherMethod", 3, "FlowDistinguisherMethod", "omit ptr"),
        ("rules", 4, "[]PolicyRulesWithSubjects", "omit list=atomic"),
    ),
    "FlowSchemaStatus": (("conditions", 1, "[]FlowSchemaCondition", "omit merge=type keys=type"),),
    "GroupSubject": (("name", 1, "string", "required"),),
    "LimitResponse": (("type", 1, "string", "required"), ("queuing", 2, "QueuingConfiguration", "omit ptr")),
    "LimitedPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", 1, "int32", "ptr"),
        ("limitResponse", 2, "LimitResponse", "omit"),
        ("lendablePercent", 3, "int32", "omit ptr"),
        ("borrowingLimitPercent", 4, "int32", "omit ptr"),
    ),
    "NonResourcePolicyRule": (
        ("verbs", 1, "[]string", "required set"),
        ("nonResourceURLs", 6, "[]string", "required set"),
    ),
    "PolicyRulesWithSubjects": (
        ("subjects", 1, "[]Subject", "required list=atomic"),
        ("resourceRules", 2, "[]ResourcePolicyRule", "omit list=atomic"),
        ("nonResourceRules", 3, "[]NonResourcePolicyRule", "omit list=atomic"),
    ),
    "PriorityLevelConfiguration": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "PriorityLevelConfigurationSpec", "omit"),
        ("status", 3, "PriorityLevelConfigurationStatus", "omit"),
    ),
    "PriorityLevelConfigurationCondition": (
        ("type", 1, "string", "omit"),
        ("status", 2, "string", "omit"),
        ("lastTransitionTime", 3, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
    ),
    "PriorityLevelConfigurationList": (
        ("metadata", 1, "meta/v1.ListMeta", "omit"),
        ("items", 2, "[]PriorityLevelConfiguration", "required"),
    ),
    "PriorityLevelConfigurationReference": (("name", 1, "string", "required"),),
    "PriorityLevelConfigurationSpec": (
        ("type", 1, "string", "required"),
        ("limited", 2, "LimitedPriorityLevelConfiguration", "omit ptr"),
        ("exempt", 3, "ExemptPriorityLevelConfiguration", "omit ptr"),
    ),
    "PriorityLevelConfigurationStatus": (
        ("conditions", 1, "[]PriorityLevelConfigurationCondition", "omit merge=type keys=type"),
    ),
    "QueuingConfiguration": (
        ("queues", 1, "int32", ""),
        ("handSize", 2, "int32", ""),
        ("queueLengthLimit", 3, "int32", ""),
    ),
    "ResourcePolicyRule": (
        ("verbs", 1, "[]string", "required set"),
        ("apiGroups", 2, "[]string", "required set"),
        ("resources", 3, "[]string", "required set"),
        ("clusterScope", 4, "bool", "omit"),
        ("namespaces", 5, "[]string", "set"),
    ),
    "ServiceAccountSubject": (("namespace", 1, "string", "required"), ("name", 2, "string", "required")),
    "Subject": (
        ("kind", 1, "string", "required"),
        ("user", 2, "UserSubject", "omit ptr"),
        ("group", 3, "GroupSubject", "omit ptr"),
        ("serviceAccount", 4, "ServiceAccountSubject", "omit ptr"),
    ),
    "UserSubject": (("name", 1, "string", "required"),),
}
