"""authentication/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.26; the line format is described in `orchd.kinds.ir`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Types, object_types

GROUP: Final = "authentication.{abbr}.io"
VERSION: Final = "v1alpha1"
DEFINITIONS: Final = "io.{abbr}.api.authentication.v1alpha1."

RESOURCES: Final[tuple[Row, ...]] = ()

#: Resources that are also served before their release.
LATER: Final[tuple[KindRow, ...]] = (
    KindRow(
        kind="SelfSubjectReview",
        plural="selfsubjectreviews",
        verbs=("create",),
        served_by="self subject review",
        since="1.26",
    ),
)

TYPES: Final[Types] = {
    **object_types("SelfSubjectReview", spec=""),
    "SelfSubjectReviewStatus": (("userInfo", 1, "authentication/v1.UserInfo", "omit"),),
}
