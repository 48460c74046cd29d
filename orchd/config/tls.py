"""Checks of the cipher suite flag."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.config.nearest import unknown
from orchd.pki.tls_names import CIPHERS, TLS13


def check_ciphers(names: Iterable[str]) -> tuple[str, ...]:
    """The configurable suites among `names`, without duplicates. Suites of TLS 1.3 are valid but always enabled.

    Raises ValueError for an unknown name.
    """
    out: dict[str, None] = {}
    for name in names:
        if name in CIPHERS:
            out[name] = None
        elif name not in TLS13:
            raise ValueError(unknown("cipher suite", name, [*CIPHERS, *TLS13]))
    return tuple(out)
