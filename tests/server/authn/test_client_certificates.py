"""Authentication by client certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from sys import getrefcount
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.pki.certificates import CLIENT, chain_pem, issue_pair, new_authority, subject
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.interfaces import AuthenticationError, Credentials
from orchd.server.authn.verified_chains import SHORT
from orchd.server.authn.x509 import ClientCertificates
from orchd.testing.doubles.results import result_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def make_authenticator(method_capacity: int = 4096) -> Any:
    authority = new_authority("ca", now=NOW)
    clock = [NOW.timestamp() + 60]
    verifier = ClientVerifier(chain_pem(authority.certificate))
    method = ClientCertificates(verifier, wall=lambda: clock[0], capacity=method_capacity)
    return authority, method, clock


def credentials_of(pair: Any) -> Any:
    return Credentials(headers={}, certificates=(pair.certificate.public_bytes(Encoding.DER),))


def client(authority: Any, name: str = "alice", groups: Any = ("dev",), hours: int = 1) -> Any:
    return issue_pair(authority, subject(name, groups), usages=(CLIENT,), now=NOW, lifetime=timedelta(hours=hours))


def test_the_subject_is_the_user() -> None:
    """The common name is the user, organizations are groups; without a certificate there is no opinion."""
    authority, method, _ = make_authenticator()
    user = result_of(method.authenticate(credentials_of(client(authority)))).user
    assert (user.name, user.groups) == ("alice", ("dev", "system:authenticated"))
    assert result_of(method.authenticate(Credentials(headers={}))) is None


def test_cached_chain_expires_with_its_certificate() -> None:
    """A cached result expires with the certificate."""
    authority, method, clock = make_authenticator()
    credentials = credentials_of(client(authority))
    assert result_of(method.authenticate(credentials)) is result_of(method.authenticate(credentials))
    clock[0] += 7200
    with pytest.raises(AuthenticationError):
        result_of(method.authenticate(credentials))


@pytest.mark.parametrize("anchors", [0, 20])
def test_long_chains_are_cached_but_not_held(anchors: int) -> None:
    """Results of long chains are cached, too, but not with the chain."""
    authority, method, _ = make_authenticator()
    leaf, anchor = (credentials_of(pair).certificates for pair in (client(authority), authority))
    chain = leaf + anchor * anchors
    assert (sum(map(len, chain)) > SHORT) is bool(anchors)
    credentials = Credentials(headers={}, certificates=chain)
    before = getrefcount(chain)
    first = result_of(method.authenticate(credentials))
    assert (getrefcount(chain) > before) is not bool(anchors)
    again = Credentials(headers={}, certificates=tuple(bytes(bytearray(der)) for der in chain))
    assert result_of(method.authenticate(again)) is first


def test_certificates_of_unknown_or_removed_authorities_are_refused() -> None:
    """Certificates of another authority are rejected, also after the authorities were replaced."""
    authority, method, _ = make_authenticator()
    other = new_authority("other", now=NOW)
    with pytest.raises(AuthenticationError):
        result_of(method.authenticate(credentials_of(client(other))))
    known = credentials_of(client(authority))
    result_of(method.authenticate(known))
    method.replace_authorities(ClientVerifier(chain_pem(other.certificate)))
    with pytest.raises(AuthenticationError):
        result_of(method.authenticate(known))
