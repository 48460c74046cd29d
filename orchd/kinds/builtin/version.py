"""version: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types

GROUP: Final = ""
VERSION: Final = ""
DEFINITIONS: Final = "io.{abbr}.apimachinery.pkg.version."

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    "Info": (
        ("major", 0, "string", "required"),
        ("minor", 0, "string", "required"),
        ("emulationMajor", 0, "string", "omit since=1.33"),
        ("emulationMinor", 0, "string", "omit since=1.33"),
        ("minCompatibilityMajor", 0, "string", "omit since=1.33"),
        ("minCompatibilityMinor", 0, "string", "omit since=1.33"),
        ("gitVersion", 0, "string", "required"),
        ("gitCommit", 0, "string", "required"),
        ("gitTreeState", 0, "string", "required"),
        ("buildDate", 0, "string", "required"),
        ("goVersion", 0, "string", "required"),
        ("compiler", 0, "string", "required"),
        ("platform", 0, "string", "required"),
    ),
}
