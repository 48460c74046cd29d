"""Random objects of any type, for tests of their protobuf form."""

from __future__ import annotations

import base64
import random
from typing import Any

from orchd.kinds.ir import Field, Type


class Sample:
    """Random canonical values of a type: what a decoder would give."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def struct(self, type_: Type, depth: int = 0) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for member in type_.members:
            if not member.number:
                continue
            if member.inline:
                out.update(self.struct(member.type, depth))
                continue
            always = member.type.kind in ("struct", "quantity") and not member.ptr
            required = (
                not member.omit
                and not member.ptr
                and member.type.kind
                in (
                    "string",
                    "bool",
                    "int32",
                    "int64",
                    "uint32",
                    "uint64",
                    "number",
                    "int64ns",
                    "int-or-string",
                    "quantity",
                )
            )
            if always or required or (depth < 5 and self.random.random() < 0.5):
                value = self.value(member.type, depth + 1)
                if self._keeps(member, value):
                    out[member.name] = value
        return out

    def _keeps(self, member: Field, value: Any) -> bool:
        if member.ptr or member.type.kind in ("quantity",):
            return True
        if member.type.kind in ("list", "map", "bytes", "raw", "any", "fieldsv1"):
            return bool(value)
        return bool(value) or not member.omit

    def value(self, type_: Type, depth: int) -> Any:
        pick = self.random
        kind = type_.kind
        if "JSONSchemaPropsOr" in type_.name:
            schema = {"type": "string"}
            other: Any = {"Array": [schema], "Bool": pick.random() < 0.5, "Array2": []}.get(
                type_.name.rpartition("Or")[2]
            )
            if type_.name.endswith("OrStringArray"):
                other = ["a"]
            return schema if pick.random() < 0.5 else other
        if kind == "struct":
            return self.struct(type_, depth)
        if kind == "list":
            return [self.value(type_.element, depth) for _ in range(pick.randrange(1, 3))]
        if kind == "map":
            return {pick.choice("abcxyz"): self.value(type_.element, depth) for _ in range(pick.randrange(1, 3))}
        return self.scalar(kind)

    def scalar(self, kind: str) -> Any:
        pick = self.random
        choices: dict[str, list[Any]] = {
            "string": ["", "a", "\u00e4\u20ac", "x" * 200],
            "bool": [True, False],
            "bytes": ["", base64.b64encode(b"\x00\xff").decode()],
            "int32": [0, 1, -1, 2**31 - 1, -(2**31)],
            "int64": [0, 1, -1, 2**63 - 1, -(2**63)],
            "uint32": [0, 2**32 - 1],
            "uint64": [0, 2**64 - 1],
            "int64ns": [0, 5],
            "number": [0, 1, 1.5, -2.25],
            "quantity": ["0", "1", "500m", "1Gi"],
            "int-or-string": [0, 80, -1, "", "http", "25%"],
            "time": ["2020-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z"],
            "microtime": ["2020-01-01T00:00:00.000000Z", "1969-12-31T23:59:59.123456Z"],
            "raw": [{"a": 1}, {"kind": "X", "l": [1, None]}],
            "any": [{"a": 1}, [1], "x", 1, True],
            "fieldsv1": [{"f:a": {}, "f:b": {".": {}}}],
        }
        return pick.choice(choices[kind])
