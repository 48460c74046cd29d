"""events/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import events_v1
from orchd.kinds.rows import Conversion, Deprecation, Row, Types, VersionRow

GROUP: Final = "events.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.events.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="Event",
        of="core/v1",
        deprecated=Deprecation(since="v1.22", removed="v1.25"),
        conversion=Conversion("conversions.renames.event_to_core", "conversions.renames.event_from_core"),
        fields=events_v1.FIELDS,
    ),
)

#: The same as those of v1.
TYPES: Final[Types] = events_v1.TYPES
