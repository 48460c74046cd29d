"""The blocks of PEM texts (RFC 7468), found in linear time."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import AnyStr


def match_blocks(
    text: AnyStr, begin: re.Pattern[AnyStr], end: re.Pattern[AnyStr]
) -> Iterator[tuple[re.Match[AnyStr], re.Match[AnyStr]]]:
    """The first and the last line of each complete block in order. Blocks do not overlap; other text is skipped.

    Group 1 of both patterns is the label. Group 2, in a lookahead because lines may share their dashes, is the rest of
    the line. A first line without a last one costs no search of the text behind it: clients can send tens of thousands.
    """
    by_label: dict[AnyStr, list[re.Match[AnyStr]]] = {}
    for last in end.finditer(text):
        by_label.setdefault(last[1], []).append(last)
    after = 0
    for first in begin.finditer(text):
        ends = by_label.get(first[1], [])
        index = bisect_left(ends, first.end(2), key=lambda last: last.start())
        if first.start() >= after and index < len(ends):
            after = ends[index].end(2)
            yield first, ends[index]
