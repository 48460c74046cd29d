"""Certificates in PEM form."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from OpenSSL.crypto import Error
from twisted.internet import ssl

_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_END: Final = b"-----END CERTIFICATE-----"


def certificates(data: bytes) -> list[Any]:
    """Every certificate of a PEM text. Raises OpenSSL.crypto.Error."""
    return [ssl.Certificate.loadPEM(_BEGIN + part.partition(_END)[0] + _END + b"\n") for part in data.split(_BEGIN)[1:]]


def read_certificates(name: str) -> list[Any]:
    """Every certificate of a PEM file, one at least. Raises ValueError with the reason, without the file's name."""
    try:
        chain = certificates(Path(name).read_bytes())
    except (OSError, Error, ValueError) as error:
        raise ValueError(reason(error)) from error
    if not chain:
        raise ValueError("no certificate in it")
    return chain


def reason(error: Exception) -> str:
    """The text of an error; those of OpenSSL hold (library, function, reason) triples."""
    if isinstance(error, Error):
        return ", ".join(str(each[-1]) for each in error.args[0]) if error.args and error.args[0] else "not PEM"
    return str(error)
