"""flowcontrol/v1beta2: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import ALL_METADATA, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "flowcontrol.apiserver.{abbr}.io"
VERSION: Final = "v1beta2"
DEFINITIONS: Final = "io.{abbr}.api.flowcontrol.v1beta2."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="FlowSchema",
        plural="flowschemas",
        key="flowschemas",
        storage_version="flowcontrol.apiserver.{abbr}.io/v1beta1",
        changes=(("1.29", {"storage_version": "flowcontrol.apiserver.{abbr}.io/v1"}),),
        table=Table(
            "tabulate.policies.flow_schema",
            ("Name|name", "PriorityLevel", "MatchingPrecedence", "DistinguisherMethod", "Age", "MissingPL"),
        ),
        validation=Validation(create="validate.flowcontrol.create_schema", update="validate.flowcontrol.update_schema"),
        generation=("spec",),
        subresources=(
            Subresource(
                name="status",
                update="validate.flowcontrol.update_status",
                resets=("metadata", "spec"),
                keeps_metadata=ALL_METADATA,
            ),
        ),
    ),
    KindRow(
        kind="PriorityLevelConfiguration",
        plural="prioritylevelconfigurations",
        key="prioritylevelconfigurations",
        storage_version="flowcontrol.apiserver.{abbr}.io/v1beta1",
        changes=(("1.29", {"storage_version": "flowcontrol.apiserver.{abbr}.io/v1"}),),
        table=Table(
            "tabulate.policies.priority_level",
            tuple("Name|name Type AssuredConcurrencyShares|until=1.26 NominalConcurrencyShares|since=1.26 Queues "
                "HandSize QueueLengthLimit Age".split()),
            {
                "Type": (
                    "`type` indicates whether this priority level is subject to limitation on request execution.  "
                    'A value of `"Exempt"` means that requests of this priority level are not subject to a limit '
                    "(and thus are never queued) and do not detract from the capacity made available to other "
                    'priority levels.  A value of `"Limited"` means that (a) requests of this priority level _are_ '
                    "subject to limits and (b) some of the server's limited capacity is made available exclusively "
                    "to this priority level. Required."
                ),
                "NominalConcurrencyShares": "Shares of the server's total concurrency assigned to the level.",
                "AssuredConcurrencyShares": (
                    "`assuredConcurrencyShares` (ACS) configures the execution limit, which is a limit on the "
                    "number of requests of this priority level that may be exeucting at a given time.  ACS must be "
                    "a positive number. The server's concurrency limit (SCL) is divided among the "
                    "concurrency-controlled priority levels in proportion to their assured concurrency shares. "
                    "This produces the assured concurrency value (ACV)"
                ),
                "Queues": (
                    "`queues` is the number of queues for this priority level. The queues exist independently at "
                    "each apiserver. The value must be positive.  Setting it to 1 effectively precludes "
                    "shufflesharding and thus makes the distinguisher method of associated flow schemas "
                    "irrelevant.  This field has a default value of 64."
                ),
                "HandSize": (
                    "`handSize` is a small positive number that configures the shuffle sharding of requests into "
                    "queues.  When enqueuing a request at this priority level the request's flow identifier (a "
                    "string pair) is hashed and the hash value is used to shuffle the list of queues and deal a "
                    "hand of the size specified here.  The request is put into one of the shortest queues in that "
                    "hand. `handSize` must be no larger than `queues`, and should be significantly smaller (so "
                    "that a few heavy flows do not saturate most of the queues).  See the user-facing "
                    "documentation for more extensive guidance on setting this field.  This field has a default "
                    "value of 8."
                ),
                "QueueLengthLimit": (
                    "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue "
                    "of this priority level at a time; excess requests are rejected.  This value must be positive. "
                    " If not specified, it will be defaulted to 50."
                ),
            },
        ),
        validation=Validation(create="validate.flowcontrol.create_level", update="validate.flowcontrol.update_level"),
        generation=("spec",),
        subresources=(
            Subresource(
                name="status",
                update="validate.flowcontrol.update_status",
                resets=("metadata", "spec"),
                keeps_metadata=ALL_METADATA,
            ),
        ),
    ),
)

TYPES: Final[Types] = {
    **object_types("FlowSchema PriorityLevelConfiguration"),
    "FlowDistinguisherMethod": (("type", 1, "string", "required"),),
    "FlowSchemaCondition": (
        ("type", 1, "string", "omit"),
        ("status", 2, "string", "omit"),
        ("lastTransitionTime", 3, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
    ),
    "FlowSchemaSpec": (
        ("priorityLevelConfiguration", 1, "PriorityLevelConfigurationReference", "required"),
        ("matchingPrecedence", 2, "int32", ""),
        ("distinguisherMethod", 3, "FlowDistinguisherMethod", "omit ptr"),
        ("rules", 4, "[]PolicyRulesWithSubjects", "omit list=atomic"),
    ),
    "FlowSchemaStatus": (("conditions", 1, "[]FlowSchemaCondition", "omit keys=type"),),
    "GroupSubject": (("name", 1, "string", "required"),),
    "LimitResponse": (("type", 1, "string", "required"), ("queuing", 2, "QueuingConfiguration", "omit ptr")),
    "LimitedPriorityLevelConfiguration": (
        ("assuredConcurrencyShares", 1, "int32", ""),
        ("limitResponse", 2, "LimitResponse", "omit"),
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
    "PriorityLevelConfigurationCondition": (
        ("type", 1, "string", "omit"),
        ("status", 2, "string", "omit"),
        ("lastTransitionTime", 3, "time", "omit"),
        ("reason", 4, "string", "omit"),
        ("message", 5, "string", "omit"),
    ),
    "PriorityLevelConfigurationReference": (("name", 1, "string", "required"),),
    "PriorityLevelConfigurationSpec": (
        ("type", 1, "string", "required"),
        ("limited", 2, "LimitedPriorityLevelConfiguration", "omit ptr"),
    ),
    "PriorityLevelConfigurationStatus": (("conditions", 1, "[]PriorityLevelConfigurationCondition", "omit keys=type"),),
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
