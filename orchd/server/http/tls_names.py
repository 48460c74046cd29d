"""The specification's TLS versions as OpenSSL constants."""

from __future__ import annotations

from OpenSSL import SSL

from orchd.pki.tls_names import CIPHERS as SUITES
from orchd.pki.tls_names import TLS13 as MODERN

__all__ = ["MODERN", "SUITES", "VERSIONS"]

VERSIONS = {
    "VersionTLS10": SSL.TLS1_VERSION,
    "VersionTLS11": SSL.TLS1_1_VERSION,
    "VersionTLS12": SSL.TLS1_2_VERSION,
    "VersionTLS13": SSL.TLS1_3_VERSION,
}
