"""apiregistration/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import CONDITION, KindRow, Row, Subresource, Table, Types, Validation, object_types

GROUP: Final = "apiregistration.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.{short}-aggregator.pkg.apis.apiregistration.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="APIService",
        plural="apiservices",
        categories=("api-extensions",),
        key="apiregistration.{abbr}.io/apiservices",
        table=Table(
            "tabulate.policies.api_service",
            ("Name|name", "Service", "Available", "Age"),
            {
                "Service": "The reference to the service that hosts this API endpoint.",
                "Available": "Whether this service is available.",
            },
        ),
        strategy="APIServiceStrategy",
        validation=Validation(
            create="validate.apiregistration.create",
            update="validate.apiregistration.update",
        ),
        unconditional_update=False,
        subresources=(
            Subresource(
                name="status",
                update="validate.apiregistration.update_status",
                resets=("metadata", "spec"),
                keeps_metadata=("labels", "annotations", "finalizers", "ownerReferences"),
                tables=False,
            ),
        ),
    ),
)

TYPES: Final[Types] = {
    **object_types("APIService"),
    "APIServiceCondition": CONDITION,
    "APIServiceSpec": (
        ("service", 1, "ServiceReference", "omit ptr"),
        ("group", 2, "string", "omit"),
        ("version", 3, "string", "omit"),
        ("insecureSkipTLSVerify", 4, "bool", "omit"),
        ("caBundle", 5, "bytes", "omit list=atomic"),
        ("groupPriorityMinimum", 7, "int32", "required"),
        ("versionPriority", 8, "int32", "required"),
    ),
    "APIServiceStatus": (("conditions", 1, "[]APIServiceCondition", "omit merge=type keys=type"),),
    "ServiceReference": (
        ("namespace", 1, "string", "omit"),
        ("name", 2, "string", "omit"),
        ("port", 3, "int32", "omit ptr"),
    ),
}
