"""Encodings: ``base64.encode`` and ``base64.decode``. Not part of any release."""

from __future__ import annotations

import base64
import binascii

from orchd.cel.declare import Library, function, overload
from orchd.cel.types import BYTES, STRING
from orchd.cel.values import EvaluationError


def _decode(text: str) -> bytes:
    """Return the bytes of a text, with or without padding."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"illegal base64 data: {error}") from None


LIBRARY = Library(
    name="encoders",
    functions=(
        function("base64.decode", overload("base64_decode_string", [STRING], BYTES, _decode)),
        function(
            "base64.encode",
            overload("base64_encode_bytes", [BYTES], STRING, lambda data: base64.b64encode(data).decode()),
        ),
    ),
)
