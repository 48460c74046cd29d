"""admissionregistration/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.21, the last one that serves this version. The fields are those of v1; defaults and rules differ. The line
format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import admissionregistration_v1 as v1
from orchd.kinds.rows import Deprecation, Row, Types, Validation, VersionRow

GROUP: Final = "admissionregistration.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.admissionregistration.v1beta1."

UNPUBLISHED: Final[frozenset[str]] = v1.UNPUBLISHED

RESOURCES: Final[tuple[Row, ...]] = tuple(
    VersionRow(
        kind=kind,
        of="admissionregistration/v1",
        deprecated=Deprecation(since="v1.16", removed="v1.22", replacement="admissionregistration.{abbr}.io/v1"),
        validation=Validation(
            create="validate.admissionregistration.create_v1beta1",
            update="validate.admissionregistration.update_v1beta1",
        ),
    )
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)

#: Required in v1, where they have no default.
_OPTIONAL: Final = {
    "sideEffects": ("sideEffects", 6, "string", "omit ptr"),
    "admissionReviewVersions": ("admissionReviewVersions", 8, "[]string", "omit"),
}

TYPES: Final[Types] = {
    name: tuple(_OPTIONAL.get(line[0], line) for line in lines) for name, lines in v1.TYPES.items()
}
