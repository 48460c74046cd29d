"""Where the reference stops to decode bytes that are not base64 (RFC 4648), in either alphabet. Line breaks are
ignored."""

from __future__ import annotations

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
STANDARD = frozenset(_LETTERS + b"+/")
URL = frozenset(_LETTERS + b"-_")


def failure_offset(data: bytes, alphabet: frozenset[int]) -> int | None:
    """Return the offset of the byte at which decoding fails, None if the data is base64."""
    place = 0
    for at, byte in enumerate(data):
        if byte in b"\r\n":
            continue
        if byte in alphabet:
            place = (place + 1) % 4
            continue
        if byte != ord("=") or place < 2:
            return at
        end = _skip_breaks(data, at + 1)
        if place == 2:
            if data[end : end + 1] != b"=":
                return len(data) if end == len(data) else end - 1
            end = _skip_breaks(data, end + 1)
        return None if end == len(data) else end
    return len(data) - place if place else None


def _skip_breaks(data: bytes, at: int) -> int:
    return len(data) - len(data[at:].lstrip(b"\r\n"))
