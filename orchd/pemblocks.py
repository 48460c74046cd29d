"""The blocks of PEM texts (RFC 7468), found in linear time."""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import AnyStr, Final, NamedTuple

_BEGIN: Final = re.compile(r"-----BEGIN ([^\n-]*)(?=(-----\n))")
_END: Final = re.compile(r"-----END ([^\n-]*)(?=(-----[ \t]*(?:\n|\Z)))")


class PemBlock(NamedTuple):
    label: str
    content: str
    #: The block with its first and last line.
    text: str


def pem_blocks(text: str) -> Iterator[PemBlock]:
    """The complete blocks of a text in PEM, in order."""
    for first, last in match_blocks(text, _BEGIN, _END):
        yield PemBlock(first[1], text[first.end(2) : last.start()], text[first.start() : last.end(2)])


def decode_block(lines: Iterable[str]) -> bytes:
    """The bytes of a block in PEM, between its headers and its last line. Raises ValueError."""
    return base64.b64decode("".join("".join(lines).split()), validate=True)


def ca_bundle_error(bundle: bytes) -> str:
    """Why no certificate of a bundle in PEM can be used; "" if one can."""
    # Imported here because it is slow to load and only custom kinds with conversion webhooks need it.
    from cryptography import x509

    broken, blocks = "", list(pem_blocks(bundle.decode("latin-1")))
    for block in blocks:
        # Blocks with headers are no certificates.
        if block.label == "CERTIFICATE" and ":" not in block.content:
            try:
                x509.load_der_x509_certificate(decode_block(block.content))
                return ""
            except ValueError as error:
                broken = broken or f"failed to parse certificate: {error}"
    return broken or ("no valid certificate authority data seen" if blocks else "unable to parse bytes as PEM block")


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
