"""The configuration of a server-side apply, as it was sent: YAML, which includes JSON."""

from __future__ import annotations

from typing import Final

from orchd import errors
from orchd.kinds.codec import json_, yaml_
from orchd.kinds.gotext.values import json_name
from orchd.kinds.jsonvalues import Object
from orchd.kinds.strictness import Strictness

_TOO_DEEP: Final = f"yaml: exceeded max depth of {yaml_.MAX_DEPTH}"


def decode_configuration(data: bytes) -> Object:
    """The applied configuration. Raises ApiError 400."""
    try:
        config = yaml_.decode(data)
    except yaml_.YAMLError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if json_.too_deep(config):
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {_TOO_DEEP}")
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise errors.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{json_name(config)} into Go value of type map[string]interface {{}}"
        )
    return config


def check_duplicates(data: bytes, strictness: Strictness) -> None:
    """Report duplicate keys in a configuration; apply itself rejects unknown fields. Raises ApiError 400."""
    repeated = yaml_.duplicates(data)
    if not repeated:
        return
    problem = f"error converting YAML to JSON: {repeated}"
    if strictness.mode == "Strict":
        raise errors.bad_request(f"error strict decoding YAML: {problem}")
    strictness.add_warnings([problem])
