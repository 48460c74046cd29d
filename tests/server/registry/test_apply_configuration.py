"""The configuration of a server-side apply as it was sent."""

from __future__ import annotations

import pytest

from orchd.errors import ApiError
from orchd.kinds.strictness import Strictness
from orchd.server.registry.apply_configuration import check_duplicates, decode_configuration


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: [", "error decoding YAML: error converting YAML to JSON: yaml: "),
        (b"[" * 300 + b"]" * 300, "error decoding YAML: error converting YAML to JSON: yaml: exceeded max depth of "),
        (
            b"- a",
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value "
            "of type map[string]interface {}",
        ),
    ],
)
def test_configuration_that_is_no_object_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        decode_configuration(data)
    assert refused.value.code == 400 and refused.value.message.startswith(message)


def test_configuration_is_yaml() -> None:
    """YAML includes JSON; nothing is an empty configuration."""
    assert decode_configuration(b"a:\n- b: 1") == decode_configuration(b'{"a": [{"b": 1}]}') == {"a": [{"b": 1}]}
    assert decode_configuration(b"") == decode_configuration(b"null") == {}


def test_repeated_keys() -> None:
    """They are warned of, or refused; without them neither happens."""
    warnings: list[str] = []
    check_duplicates(b"a: 1\nb: 2", Strictness("Strict", warnings.append))
    check_duplicates(b"a: 1\na: 2", Strictness("Warn", warnings.append))
    assert len(warnings) == 1 and 'key "a" already set in map' in warnings[0]
    with pytest.raises(ApiError) as refused:
        check_duplicates(b"a: 1\na: 2", Strictness("Strict", warnings.append))
    assert refused.value.message.startswith("error strict decoding YAML: error converting YAML to JSON: yaml: ")
    assert len(warnings) == 1
