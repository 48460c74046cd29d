"""apiextensions/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23, which converts from and to this version but has given up serving it, and of 1.21, which did both.
The line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import apiextensions_v1 as v1
from orchd.kinds.rows import Conversion, Deprecation, Row, Types, VersionRow

GROUP: Final = "apiextensions.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1."

UNPUBLISHED: Final[frozenset[str]] = v1.UNPUBLISHED

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="CustomResourceDefinition",
        of="apiextensions/v1",
        deprecated=Deprecation(since="v1.16", removed="v1.22", replacement="apiextensions.{abbr}.io/v1"),
        conversion=Conversion("conversions.definitions.from_v1beta1", "conversions.definitions.to_v1beta1"),
    ),
)

TYPES: Final[Types] = {
    **{name: lines for name, lines in v1.TYPES.items() if name != "WebhookConversion"},
    "CustomResourceColumnDefinition": (
        ("name", 1, "string", "required"),
        ("type", 2, "string", "required"),
        ("format", 3, "string", "omit"),
        ("description", 4, "string", "omit"),
        ("priority", 5, "int32", "omit"),
        ("JSONPath", 6, "string", "required"),
    ),
    "CustomResourceConversion": (
        ("strategy", 1, "string", "required"),
        ("webhookClientConfig", 2, "WebhookClientConfig", "omit ptr"),
        ("conversionReviewVersions", 3, "[]string", "omit"),
    ),
    "CustomResourceDefinitionSpec": (
        ("group", 1, "string", "required"),
        ("version", 2, "string", "omit"),
        ("names", 3, "CustomResourceDefinitionNames", "required"),
        ("scope", 4, "string", "required"),
        ("validation", 5, "CustomResourceValidation", "omit ptr"),
        ("subresources", 6, "CustomResourceSubresources", "omit ptr"),
        ("versions", 7, "[]CustomResourceDefinitionVersion", "omit"),
        ("additionalPrinterColumns", 8, "[]CustomResourceColumnDefinition", "omit"),
        ("conversion", 9, "CustomResourceConversion", "omit ptr"),
        ("preserveUnknownFields", 10, "bool", "omit ptr"),
    ),
}
