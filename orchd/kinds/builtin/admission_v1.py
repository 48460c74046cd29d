"""admission/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types

GROUP: Final = "admission.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    "AdmissionRequest": (
        ("uid", 1, "string", "required"),
        ("kind", 2, "meta/v1.GroupVersionKind", "required"),
        ("resource", 3, "meta/v1.GroupVersionResource", "required"),
        ("subResource", 4, "string", "omit"),
        ("requestKind", 13, "meta/v1.GroupVersionKind", "omit ptr"),
        ("requestResource", 14, "meta/v1.GroupVersionResource", "omit ptr"),
        ("requestSubResource", 15, "string", "omit"),
        ("name", 5, "string", "omit"),
        ("namespace", 6, "string", "omit"),
        ("operation", 7, "string", "required"),
        ("userInfo", 8, "authentication/v1.UserInfo", "required"),
        ("object", 9, "raw", "omit"),
        ("oldObject", 10, "raw", "omit"),
        ("dryRun", 11, "bool", "omit ptr"),
        ("options", 12, "raw", "omit"),
    ),
    "AdmissionResponse": (
        ("uid", 1, "string", "required"),
        ("allowed", 2, "bool", "required"),
        ("status", 3, "meta/v1.Status", "omit ptr"),
        ("patch", 4, "bytes", "omit"),
        ("patchType", 5, "string", "omit ptr"),
        ("auditAnnotations", 6, "{}string", "omit"),
        ("warnings", 7, "[]string", "omit list=atomic@1.35"),
    ),
    "AdmissionReview": (
        ("request", 1, "AdmissionRequest", "omit ptr"),
        ("response", 2, "AdmissionResponse", "omit ptr"),
    ),
}
