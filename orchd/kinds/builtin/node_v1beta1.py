"""node/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import node_v1
from orchd.kinds.rows import Deprecation, Row, Types, VersionRow

GROUP: Final = "node.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.node.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(kind="RuntimeClass", of="node/v1", deprecated=Deprecation(since="v1.22", removed="v1.25")),
)

#: The same as those of v1.
TYPES: Final[Types] = node_v1.TYPES
