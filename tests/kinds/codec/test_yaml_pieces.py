"""Large values are encoded to YAML in pieces, which join to the same document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchd.kinds.codec import yaml_

_TEXTS = st.sampled_from(
    [
        "a",
        "b c",
        "1",
        "true",
        "multi\nline\n\n x",
        "- a",
        "#",
        ":",
        "",
        "key: v",
        "\ttab",
        "'q'",
        '"',
        "a\n",
        "\n\na",
        "x" * 90 + " y",
    ]
)
_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=30,
)


@given(_VALUES)
@example({"a": [[["b"], {"c": ["d\n", {}]}], []], "e": {"f": {"g": []}}})
def test_pieces_join_to_the_value(value: Any) -> None:
    """The joined pieces decode to the original value."""
    with pytest.MonkeyPatch.context() as patch:
        whole = yaml_.decode(yaml_.encode({"v": value}))
        patch.setattr(yaml_, "_PIECE", 8)
        assert yaml_.decode(yaml_.encode({"v": value})) == whole


def test_pieces_have_the_text_of_the_whole() -> None:
    """The joined pieces equal the document that is encoded at once."""
    value = {"spec": {"items": [{"a": "x", "b": 3, "c": {"d": "y"}, "l": ["z"]}] * 3000}, "kind": "Bar"}
    with pytest.MonkeyPatch.context() as patch:
        pieces = yaml_.encode(value)
        patch.setattr(yaml_, "_PIECE", 1 << 30)
        assert yaml_.encode(value) == pieces


def test_piece_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call of the C library encodes more than a piece and one value."""
    sizes = []
    dumped = yaml_._dump

    def note(value: Any, style: Any) -> bytes:
        text = dumped(value, style)
        sizes.append(len(text))
        return text

    monkeypatch.setattr(yaml_, "_dump", note)
    yaml_.encode({"spec": {"items": [{"a": "x" * 50}] * 10_000, "map": {f"k{n}": {"v": "w"} for n in range(10_000)}}})
    assert len(sizes) > 30 and max(sizes) < 3 * yaml_._PIECE
