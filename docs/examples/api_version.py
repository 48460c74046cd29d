"""A complete older version of a built-in kind: Leases in ``coordination/v1beta1``, whose holder is called `holder`.

The upper half is a table as in `orchd/kinds/builtin/`, the lower half the conversion. See
docs/extending/api-version.md.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.rows import Conversion, Deprecation, Row, VersionRow

GROUP: Final = "coordination.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.coordination.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="Lease",
        of="coordination/v1",
        deprecated=Deprecation(since="v1.14", removed="v1.22", replacement="coordination.{abbr}.io/v1"),
        conversion=Conversion("conversions.leases.from_v1beta1", "conversions.leases.to_v1beta1"),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "Lease": (("metadata", 1, "meta/v1.ObjectMeta", "omit"), ("spec", 2, "LeaseSpec", "omit")),
    "LeaseSpec": (("holder", 1, "string", "omit ptr"), ("leaseDurationSeconds", 2, "int32", "omit ptr")),
}


def from_v1beta1(obj: dict[str, Any], catalog: Any) -> dict[str, Any]:
    """A Lease of v1beta1 in the form of v1: a new object, apiVersion left to the caller."""
    return _renamed(obj, "holder", "holderIdentity")


def to_v1beta1(obj: dict[str, Any], catalog: Any) -> dict[str, Any]:
    """A Lease of v1 in the form of v1beta1; fields that it lacks are dropped when the object is brought into shape."""
    return _renamed(obj, "holderIdentity", "holder")


def _renamed(obj: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    spec = dict(obj.get("spec") or {})
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "spec": spec}
