"""When certificates end, and when they are renewed before that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from orchd.pki.certificates import load_chain

#: People are warned so long before a certificate ends, or in the last quarter of a shorter life.
WARN_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """A certificate file. `renewed`: the server renews it automatically."""

    name: str
    path: Path
    begins: datetime
    ends: datetime
    renewed: bool

    @property
    def renewal(self) -> datetime:
        return renewal_time(self.begins, self.ends)

    def ends_soon(self, now: datetime) -> bool:
        """True if a warning is due."""
        return now >= self.ends - min(WARN_BEFORE, (self.ends - self.begins) / 4)


def renewal_time(begins: datetime, ends: datetime) -> datetime:
    """A certificate is renewed after two thirds of its life."""
    return begins + (ends - begins) * 2 / 3


def due(certificate: x509.Certificate, now: datetime) -> bool:
    """True if the certificate is due for renewal."""
    return now >= renewal_time(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def read_expiry(name: str, path: Path, *, renewed: bool = False) -> Expiry:
    """The expiry of a file's certificate; of several, of the one that ends first. Raises OSError, and ValueError naming
    the file."""
    try:
        first = min(load_chain(path.read_bytes()), key=lambda each: each.not_valid_after_utc)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Expiry(
        name=name, path=path, begins=first.not_valid_before_utc, ends=first.not_valid_after_utc, renewed=renewed
    )
