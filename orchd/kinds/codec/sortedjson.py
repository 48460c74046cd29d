"""JSON of objects without types, as the reference writes those of custom kinds: members sorted, numbers as its encoder
spells them.

A number with the value of a 64-bit integer has no fraction or exponent (1.0 becomes 1), other numbers are floats. HTML
characters are escaped when objects are served.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from orchd.kinds.codec import json_
from orchd.kinds.gotext.values import respell_numbers

#: The first bytes of objects that are not sorted: apiVersion would precede kind.
UNSORTED: Final = b'{"kind":'
#: A number with a fraction, an exponent or many digits. It may be found in strings, too.
_UNUSUAL: Final = re.compile(rb"[:\[,]\s*-?[0-9]+(?:[.eE]|[0-9]{18})")


def encode(value: Any, *, pretty: bool = False) -> bytes:
    """Encode a value as compact JSON, or indented by two spaces. Raises TypeError for values without a JSON form."""
    option = orjson.OPT_SORT_KEYS | (orjson.OPT_INDENT_2 if pretty else 0)
    text = orjson.dumps(value, option=option)
    if _UNUSUAL.search(text):
        text = orjson.dumps(respell_numbers(value), option=option)
    # Copied: the buffer of orjson's result has several times its length, and would live as long as the object.
    return b"%b" % text


def encode_escaped(obj: Any, *, pretty: bool = False) -> bytes:
    """Encode an object of a custom kind, or a list of them, as it is served: with HTML characters escaped."""
    return json_.escape(encode(obj, pretty=pretty))


def sorted_form(json: bytes) -> bytes:
    """The JSON of an object with sorted members: `json` itself unless it begins with its kind, which no sorted object
    does."""
    return encode_escaped(orjson.loads(json)) if json.startswith(UNSORTED) else json
