"""flowcontrol/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.35; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import flowcontrol_v1beta2
from orchd.kinds.rows import Conversion, Row, Types, Validation, VersionRow, same_types

GROUP: Final = "flowcontrol.apiserver.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.flowcontrol.v1."

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

TYPES: Final[Types] = {
    **same_types(
        flowcontrol_v1beta2.TYPES,
        "FlowDistinguisherMethod FlowSchema FlowSchemaCondition FlowSchemaSpec GroupSubject "
        "LimitResponse NonResourcePolicyRule PolicyRulesWithSubjects PriorityLevelConfiguration "
        "PriorityLevelConfigurationCondition "
        "PriorityLevelConfigurationReference QueuingConfiguration ResourcePolicyRule ServiceAccountSubject "
        "Subject UserSubject",
    ),
    "ExemptPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", 1, "int32", "omit ptr"),
        ("lendablePercent", 2, "int32", "omit ptr"),
    ),
    "FlowSchemaStatus": (("conditions", 1, "[]FlowSchemaCondition", "omit merge=type keys=type"),),
    "LimitedPriorityLevelConfiguration": (
        ("nominalConcurrencyShares", 1, "int32", "ptr"),
        ("limitResponse", 2, "LimitResponse", "omit"),
        ("lendablePercent", 3, "int32", "omit ptr"),
        ("borrowingLimitPercent", 4, "int32", "omit ptr"),
    ),
    "PriorityLevelConfigurationSpec": (
        ("type", 1, "string", "required"),
        ("limited", 2, "LimitedPriorityLevelConfiguration", "omit ptr"),
        ("exempt", 3, "ExemptPriorityLevelConfiguration", "omit ptr"),
    ),
    "PriorityLevelConfigurationStatus": (
        ("conditions", 1, "[]PriorityLevelConfigurationCondition", "omit merge=type keys=type"),
    ),
}
