"""authorization/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import authorization_v1
from orchd.kinds.rows import Row, Types, same_types

GROUP: Final = "authorization.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    **same_types(
        authorization_v1.TYPES,
        "LocalSubjectAccessReview NonResourceAttributes SelfSubjectAccessReview SelfSubjectAccessReviewSpec "
        "SelfSubjectRulesReview SelfSubjectRulesReviewSpec SubjectAccessReview SubjectAccessReviewStatus",
    ),
    "NonResourceRule": (("verbs", 1, "[]string", "required"), ("nonResourceURLs", 2, "[]string", "omit")),
    "ResourceAttributes": (
        ("namespace", 1, "string", "omit"),
        ("verb", 2, "string", "omit"),
        ("group", 3, "string", "omit"),
        ("version", 4, "string", "omit"),
        ("resource", 5, "string", "omit"),
        ("subresource", 6, "string", "omit"),
        ("name", 7, "string", "omit"),
    ),
    "ResourceRule": (
        ("verbs", 1, "[]string", "required"),
        ("apiGroups", 2, "[]string", "omit"),
        ("resources", 3, "[]string", "omit"),
        ("resourceNames", 4, "[]string", "omit"),
    ),
    "SubjectAccessReviewSpec": (
        ("resourceAttributes", 1, "ResourceAttributes", "omit ptr"),
        ("nonResourceAttributes", 2, "NonResourceAttributes", "omit ptr"),
        ("user", 3, "string", "omit"),
        ("group", 4, "[]string", "omit"),
        ("extra", 5, "{}[]string", "omit pb=map<string,authorization/v1beta1.ExtraValue>"),
        ("uid", 6, "string", "omit"),
    ),
    "SubjectRulesReviewStatus": (
        ("resourceRules", 1, "[]ResourceRule", "required"),
        ("nonResourceRules", 2, "[]NonResourceRule", "required"),
        ("incomplete", 3, "bool", "required"),
        ("evaluationError", 4, "string", "omit"),
    ),
}
