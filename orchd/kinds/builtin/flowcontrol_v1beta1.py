"""flowcontrol/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import flowcontrol_v1beta2
from orchd.kinds.rows import Deprecation, Row, Types, VersionRow

GROUP: Final = "flowcontrol.apiserver.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = "io.{abbr}.api.flowcontrol.v1beta1."

RESOURCES: Final[tuple[Row, ...]] = (
    VersionRow(
        kind="FlowSchema",
        of="flowcontrol/v1beta2",
        deprecated=Deprecation(since="v1.23", removed="v1.26", replacement="flowcontrol.apiserver.{abbr}.io/v1beta2"),
    ),
    VersionRow(
        kind="PriorityLevelConfiguration",
        of="flowcontrol/v1beta2",
        deprecated=Deprecation(since="v1.23", removed="v1.26", replacement="flowcontrol.apiserver.{abbr}.io/v1beta2"),
    ),
)

#: The same as those of v1beta2.
TYPES: Final[Types] = flowcontrol_v1beta2.TYPES
