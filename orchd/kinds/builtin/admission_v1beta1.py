"""admission/v1beta1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.builtin import admission_v1
from orchd.kinds.rows import Row, Types

GROUP: Final = "admission.{abbr}.io"
VERSION: Final = "v1beta1"
DEFINITIONS: Final = ""

RESOURCES: Final[tuple[Row, ...]] = ()

#: The same as those of v1.
TYPES: Final[Types] = admission_v1.TYPES
