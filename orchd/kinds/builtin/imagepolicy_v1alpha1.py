"""imagepolicy/v1alpha1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types, object_types

GROUP: Final = "imagepolicy.{abbr}.io"
VERSION: Final = "v1alpha1"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    **object_types("ImageReview", spec="required"),
    "ImageReviewContainerSpec": (("image", 1, "string", "omit"),),
    "ImageReviewSpec": (
        ("containers", 1, "[]ImageReviewContainerSpec", "omit list=atomic@1.35"),
        ("annotations", 2, "{}string", "omit"),
        ("namespace", 3, "string", "omit"),
    ),
    "ImageReviewStatus": (
        ("allowed", 1, "bool", "required"),
        ("reason", 2, "string", "omit"),
        ("auditAnnotations", 3, "{}string", "omit"),
    ),
}
