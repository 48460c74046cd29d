"""events/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import UNSUPPORTED_FIELD, Conversion, FieldSelectors, Row, Types, Validation, VersionRow

GROUP: Final = "events.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.events.v1."

#: Field selectors of events in both versions, by the names that fields have in core/v1.
FIELDS: Final = FieldSelectors(
    aliases={
        "reason": "reason",
        "regarding.kind": "involvedObject.kind",
        "regarding.namespace": "involvedObject.namespace",
        "regarding.name": "involvedObject.name",
        "regarding.uid": "involvedObject.uid",
        "regarding.apiVersion": "involvedObject.apiVersion",
        "regarding.resourceVersion": "involvedObject.resourceVersion",
        "regarding.fieldPath": "involvedObject.fieldPath",
        "reportingController": "reportingComponent",
        "type": "type",
    },
    values="field_values.event",
    unsupported=UNSUPPORTED_FIELD,
)

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="Event",
        of="core/v1",
        conversion=Conversion("conversions.renames.event_to_core", "conversions.renames.event_from_core"),
        fields=FIELDS,
        validation=Validation(
            create="validate.core.events.create_strict",
            update="validate.core.events.update_strict",
            own_metadata=False,
        ),
    ),
)

TYPES: Final[Types] = {
    "Event": (
        ("metadata", 1, "meta/v1.ObjectMeta", ""),
        ("eventTime", 2, "microtime", "required"),
        ("series", 3, "EventSeries", "omit ptr"),
        ("reportingController", 4, "string", "omit"),
        ("reportingInstance", 5, "string", "omit"),
        ("action", 6, "string", "omit"),
        ("reason", 7, "string", "omit"),
        ("regarding", 8, "core/v1.ObjectReference", "omit"),
        ("related", 9, "core/v1.ObjectReference", "omit ptr"),
        ("note", 10, "string", "omit"),
        ("type", 11, "string", "omit"),
        ("deprecatedSource", 12, "core/v1.EventSource", "omit"),
        ("deprecatedFirstTimestamp", 13, "time", "omit"),
        ("deprecatedLastTimestamp", 14, "time", "omit"),
        ("deprecatedCount", 15, "int32", "omit"),
    ),
    "EventSeries": (("count", 1, "int32", "required"), ("lastObservedTime", 2, "microtime", "required")),
}
