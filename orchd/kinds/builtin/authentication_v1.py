"""authentication/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Types, Validation, object_types

GROUP: Final = "authentication.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.authentication.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="TokenReview",
        plural="tokenreviews",
        verbs=("create",),
        served_by="token review",
    ),
    KindRow(
        kind="TokenRequest",
        validation=Validation(create="validate.core.other_kinds.create_token_request"),
    ),
)

#: Resources that are also served before their release.
LATER: Final[tuple[KindRow, ...]] = (
    KindRow(
        kind="SelfSubjectReview",
        plural="selfsubjectreviews",
        verbs=("create",),
        served_by="self subject review",
        since="1.28",
    ),
)

TYPES: Final[Types] = {
    **object_types("SelfSubjectReview", spec=""),
    **object_types("TokenRequest TokenReview", spec="required"),
    "BoundObjectReference": (
        ("kind", 1, "string", "omit"),
        ("apiVersion", 2, "string", "omit"),
        ("name", 3, "string", "omit"),
        ("uid", 4, "string", "omit"),
    ),
    "SelfSubjectReviewStatus": (("userInfo", 1, "UserInfo", "omit"),),
    "TokenRequestSpec": (
        ("audiences", 1, "[]string", "required list=atomic@1.35"),
        ("expirationSeconds", 4, "int64", "ptr"),
        ("boundObjectRef", 3, "BoundObjectReference", "ptr"),
    ),
    "TokenRequestStatus": (("token", 1, "string", "required"), ("expirationTimestamp", 2, "time", "required")),
    "TokenReviewSpec": (("token", 1, "string", "omit"), ("audiences", 2, "[]string", "omit list=atomic@1.35")),
    "TokenReviewStatus": (
        ("authenticated", 1, "bool", "omit"),
        ("user", 2, "UserInfo", "omit"),
        ("audiences", 4, "[]string", "omit list=atomic@1.35"),
        ("error", 3, "string", "omit"),
    ),
    "UserInfo": (
        ("username", 1, "string", "omit"),
        ("uid", 2, "string", "omit"),
        ("groups", 3, "[]string", "omit list=atomic@1.35"),
        ("extra", 4, "{}[]string", "omit pb=map<string,authentication/v1.ExtraValue>"),
    ),
}
