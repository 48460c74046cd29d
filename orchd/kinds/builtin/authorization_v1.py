"""authorization/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import KindRow, Row, Types, Validation, object_types

GROUP: Final = "authorization.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.authorization.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="LocalSubjectAccessReview",
        plural="localsubjectaccessreviews",
        namespaced=True,
        verbs=("create",),
        served_by="local access review",
        validation=Validation(create="validate.reviews.local_access_review"),
    ),
    KindRow(
        kind="SelfSubjectAccessReview",
        plural="selfsubjectaccessreviews",
        verbs=("create",),
        served_by="self access review",
        validation=Validation(create="validate.reviews.self_access_review"),
    ),
    KindRow(
        kind="SelfSubjectRulesReview",
        plural="selfsubjectrulesreviews",
        verbs=("create",),
        served_by="self rules review",
    ),
    KindRow(
        kind="SubjectAccessReview",
        plural="subjectaccessreviews",
        verbs=("create",),
        served_by="access review",
        validation=Validation(create="validate.reviews.access_review"),
    ),
)

TYPES: Final[Types] = {
    **object_types("SubjectAccessReview", spec="required"),
    "FieldSelectorAttributes": (
        ("rawSelector", 1, "string", "omit"),
        ("requirements", 2, "[]meta/v1.FieldSelectorRequirement", "omit list=atomic"),
    ),
    "LabelSelectorAttributes": (
        ("rawSelector", 1, "string", "omit"),
        ("requirements", 2, "[]meta/v1.LabelSelectorRequirement", "omit list=atomic"),
    ),
    "LocalSubjectAccessReview": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "SubjectAccessReviewSpec", "required"),
        ("status", 3, "SubjectAccessReviewStatus", "omit"),
    ),
    "NonResourceAttributes": (("path", 1, "string", "omit"), ("verb", 2, "string", "omit")),
    "NonResourceRule": (
        ("verbs", 1, "[]string", "required list=atomic@1.35"),
        ("nonResourceURLs", 2, "[]string", "omit list=atomic@1.35"),
    ),
    "ResourceAttributes": (
        ("namespace", 1, "string", "omit"),
        ("verb", 2, "string", "omit"),
        ("group", 3, "string", "omit"),
        ("version", 4, "string", "omit"),
        ("resource", 5, "string", "omit"),
        ("subresource", 6, "string", "omit"),
        ("name", 7, "string", "omit"),
        ("fieldSelector", 8, "FieldSelectorAttributes", "omit ptr since=1.31"),
        ("labelSelector", 9, "LabelSelectorAttributes", "omit ptr since=1.31"),
    ),
    "ResourceRule": (
        ("verbs", 1, "[]string", "required list=atomic@1.35"),
        ("apiGroups", 2, "[]string", "omit list=atomic@1.35"),
        ("resources", 3, "[]string", "omit list=atomic@1.35"),
        ("resourceNames", 4, "[]string", "omit list=atomic@1.35"),
    ),
    "SelfSubjectAccessReview": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "SelfSubjectAccessReviewSpec", "required"),
        ("status", 3, "SubjectAccessReviewStatus", "omit"),
    ),
    "SelfSubjectAccessReviewSpec": (
        ("resourceAttributes", 1, "ResourceAttributes", "omit ptr"),
        ("nonResourceAttributes", 2, "NonResourceAttributes", "omit ptr"),
    ),
    "SelfSubjectRulesReview": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "SelfSubjectRulesReviewSpec", "required"),
        ("status", 3, "SubjectRulesReviewStatus", "omit"),
    ),
    "SelfSubjectRulesReviewSpec": (("namespace", 1, "string", "omit"),),
    "SubjectAccessReviewSpec": (
        ("resourceAttributes", 1, "ResourceAttributes", "omit ptr"),
        ("nonResourceAttributes", 2, "NonResourceAttributes", "omit ptr"),
        ("user", 3, "string", "omit"),
        ("groups", 4, "[]string", "omit list=atomic@1.35"),
        ("extra", 5, "{}[]string", "omit pb=map<string,authorization/v1.ExtraValue>"),
        ("uid", 6, "string", "omit"),
    ),
    "SubjectAccessReviewStatus": (
        ("allowed", 1, "bool", "required"),
        ("denied", 4, "bool", "omit"),
        ("reason", 2, "string", "omit"),
        ("evaluationError", 3, "string", "omit"),
    ),
    "SubjectRulesReviewStatus": (
        ("resourceRules", 1, "[]ResourceRule", "required list=atomic@1.35"),
        ("nonResourceRules", 2, "[]NonResourceRule", "required list=atomic@1.35"),
        ("incomplete", 3, "bool", "required"),
        ("evaluationError", 4, "string", "omit"),
    ),
}
