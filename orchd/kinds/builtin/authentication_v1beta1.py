"""authentication/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import authentication_v1alpha1
from orchd.kinds.rows import KindRow, Row, Types, object_types

GROUP: Final = "authentication.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.authentication.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = ()

#: Resources of later releases.
LATER: Final[tuple[KindRow, ...]] = authentication_v1alpha1.LATER

TYPES: Final[Types] = {
    **authentication_v1alpha1.TYPES,
    **object_types("TokenReview", spec="required"),
    "TokenReviewSpec": (("token", 1, "string", "omit"), ("audiences", 2, "[]string", "omit")),
    "TokenReviewStatus": (
        ("authenticated", 1, "bool", "omit"),
        ("user", 2, "UserInfo", "omit"),
        ("audiences", 4, "[]string", "omit"),
        ("error", 3, "string", "omit"),
    ),
    "UserInfo": (
        ("username", 1, "string", "omit"),
        ("uid", 2, "string", "omit"),
        ("groups", 3, "[]string", "omit"),
        ("extra", 4, "{}[]string", "omit pb=map<string,authentication/v1beta1.ExtraValue>"),
    ),
}
