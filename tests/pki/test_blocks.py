"""The blocks of PEM texts, also of those that clients sent to harm."""

from __future__ import annotations

from orchd.pemblocks import pem_blocks
from orchd.pki.keys import blocks

ONE = "-----BEGIN A-----\nb25l\n-----END A-----\n"
TWO = "-----BEGIN B C-----\ndHdv\n-----END B C-----\n"
#: Each of these made the search for its end read the rest of the text.
OPEN = "-----BEGIN A X-----\n" * 20_000


def both(text: str) -> list[str]:
    """The labels that both readers find, which agree."""
    labels = [label for label, _ in blocks(text.encode())]
    assert [block.label for block in pem_blocks(text)] == labels
    return labels


def test_blocks_are_found_in_order() -> None:
    assert both("words\n" + TWO + "words\n" + ONE + TWO) == ["B C", "A", "B C"]
    assert blocks(("words\n" + ONE).encode()) == [("A", ONE.encode())]
    block = next(pem_blocks("words\n" + ONE))
    assert (block.content, block.text) == ("b25l\n", ONE)


def test_a_block_ends_at_its_own_label() -> None:
    assert both("-----BEGIN A-----\n" + TWO + "-----END A-----\n" + TWO) == ["A", "B C"]
    assert both("-----END A-----\n" + ONE) == ["A"]


def test_lines_may_share_their_dashes() -> None:
    """A last line begins behind the first one, also where both share dashes."""
    assert blocks(b"-----BEGIN A-----END A-----") == []
    for text in (b"-----BEGIN A-----END A-----END A-----", b"-----BEGIN X-----BEGIN A-----b25l-----END A-----"):
        (block,) = blocks(text)
        assert block == ("A", text[text.index(b"-----BEGIN A") :] + b"\n")


def test_beginnings_without_an_end_are_skipped() -> None:
    assert both(OPEN) == []
    assert both(OPEN + ONE) == ["A"]
    assert both("".join(f"-----BEGIN A{i}-----\n" for i in range(20_000)) + TWO) == ["B C"]
