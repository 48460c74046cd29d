"""TLS configuration: versions, cipher suites, certificates by server name, and reload without restart.

Client certificates are requested but not verified here: every handshake succeeds, and x509 authentication decides, so
that an invalid certificate results in a readable 401 instead of a broken connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer

from orchd.server.http.tls_names import MODERN, SUITES, VERSIONS
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.log import Logger

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_log = Logger()

_OPTIONS = (
    SSL.OP_NO_COMPRESSION
    | SSL.OP_CIPHER_SERVER_PREFERENCE
    | SSL.OP_SINGLE_ECDH_USE
    | SSL.OP_NO_RENEGOTIATION
)  # fmt: skip
#: Default suites of the reference below TLS 1.3: forward secrecy and authenticated encryption first.
_DEFAULT_CIPHERS = b"ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES128:ECDHE+AES256:!SHA256:!SHA384:!aNULL:!DSS:!PSK:AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA:AES256-SHA"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPairFiles:
    """A PEM chain, leaf first, and its key. `names` are the host names that it serves, including ``*.name``; `flags`
    says in errors which flags named the files."""

    certificate: str
    key: str
    names: tuple[str, ...] = ()
    flags: str = ""

    def error(self, text: object) -> ValueError:
        """An error of these files."""
        return ValueError(f"{self.flags}: {text}" if self.flags else str(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """`serving` is the default pair, `by_name` are pairs for server names; such a pair without names serves those of
    its certificate. Handshakes name the authorities in `client_ca_files` as acceptable for client certificates, by
    which clients choose one; without files, any. `cipher_suites` and `min_version` use the specification's names."""

    serving: KeyPairFiles
    by_name: tuple[KeyPairFiles, ...] = ()
    client_ca_files: tuple[str, ...] = ()
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    http2: bool = False

    def files(self) -> list[str]:
        """All files to watch for changes."""
        pairs = [name for pair in (self.serving, *self.by_name) for name in (pair.certificate, pair.key)]
        return [*pairs, *self.client_ca_files]


def min_version(name: str) -> int:
    """The OpenSSL number of ``VersionTLS12`` and the like; "" is TLS 1.2. ValueError lists the valid names."""
    try:
        return VERSIONS[name or "VersionTLS12"]
    except KeyError:
        raise ValueError(f"unknown TLS version {name!r}, known are: {', '.join(VERSIONS)}") from None


def cipher_list(names: Iterable[str]) -> tuple[bytes, bytes]:
    """OpenSSL's lists for TLS up to 1.2 and for 1.3, from IANA names; b"" without names."""
    old, new = [], []
    for name in names:
        if name in MODERN:
            new.append(name)
        elif name in SUITES:
            old.append(SUITES[name])
        else:
            raise ValueError(f"unknown cipher suite {name!r}, known are: {', '.join([*MODERN, *SUITES])}")
    return ":".join(old).encode("ascii"), ":".join(new).encode("ascii")


def missing_suites(names: Iterable[str]) -> list[str]:
    """The IANA names of those suites that the TLS library does not have."""
    missing = []
    for name in names:
        old = cipher_list((name,))[0]
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        try:
            if old:
                context.set_cipher_list(old)
        except SSL.Error:
            missing.append(name)
    return missing


@implementer(IOpenSSLServerConnectionCreator)
class ServerContexts:
    """Makes TLS contexts of new connections from the configured files, which `reload` reads again after a change.

    Raises OSError or ValueError (with the file's name, and that of its flag) for invalid files at first; later failures
    of `reload` keep the previous contexts.
    """

    def __init__(self, settings: TlsSettings) -> None:
        self.settings = settings
        self._old, self._new = cipher_list(settings.cipher_suites)
        self._version = min_version(settings.min_version)
        missing = missing_suites(settings.cipher_suites)
        if missing and len(missing) < len(settings.cipher_suites):
            _log.warn(
                "the TLS library does not have the cipher suites {missing}: they are not offered",
                missing=", ".join(missing),
            )
        self._contexts = FileReloader("certificates", self._load, lambda: self.settings.files())

    def serverConnectionForTLS(self, protocol: object) -> SSL.Connection:
        """A connection with memory BIOs, in accept state."""
        connection = SSL.Connection(self._contexts.value, None)
        connection.set_accept_state()
        return connection

    def reload(self) -> bool:
        """Read changed files again. True when new connections use new contexts."""
        return self._contexts.check()

    def _load(self) -> SSL.Context:
        """The default context, which switches to another one by server name."""
        named: dict[str, SSL.Context] = {}
        for pair in self.settings.by_name:
            context = self._context(pair)
            for name in pair.names or _certificate_names(context):
                # The first pair with a name serves it.
                named.setdefault(name.lower(), context)
        default = self._context(self.settings.serving)
        if named:
            default.set_tlsext_servername_callback(partial(_choose, named))
        return default

    def _context(self, pair: KeyPairFiles) -> SSL.Context:
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_options(_OPTIONS)
        # Saves some 30 KiB per idle connection.
        context.set_mode(SSL.MODE_RELEASE_BUFFERS)
        context.set_min_proto_version(self._version)
        try:
            # OpenSSL counts TLS before 1.2 as insecure, for its digests: it takes part only at the lowest security
            # level.
            level = b":@SECLEVEL=0" if self._version < SSL.TLS1_2_VERSION else b""
            context.set_cipher_list((self._old or _DEFAULT_CIPHERS) + level)
            if self._new:
                context.set_tls13_ciphersuites(self._new)
        except SSL.Error as error:
            missing = ", ".join(missing_suites(self.settings.cipher_suites))
            raise ValueError(f"the TLS library does not have the cipher suites {missing}: {_text(error)}") from error
        for name in (pair.certificate, pair.key):
            try:
                with open(name, "rb"):
                    """OSError for a missing file, which OpenSSL would report without its name."""
            except OSError as error:
                raise pair.error(error) from error
        try:
            context.use_certificate_chain_file(pair.certificate)
            context.use_privatekey_file(pair.key)
            context.check_privatekey()
        except SSL.Error as error:
            raise pair.error(f"{pair.certificate}, {pair.key}: {_text(error)}") from error
        context.set_verify(SSL.VERIFY_PEER, _any_certificate)
        context.set_session_id(b"orchd")
        for name in self.settings.client_ca_files:
            for authority in _authorities(name):
                context.add_client_ca(authority)
        context.set_alpn_select_callback(self._select)
        return context

    def _select(self, connection: SSL.Connection, offered: list[bytes]) -> Any:
        for name in (b"h2", b"http/1.1") if self.settings.http2 else (b"http/1.1",):
            if name in offered:
                return name
        return SSL.NO_OVERLAPPING_PROTOCOLS


def _choose(named: Mapping[str, SSL.Context], connection: SSL.Connection) -> None:
    """Switch a connection to the context of the server name that the client sent."""
    name = (connection.get_servername() or b"").decode("ascii", "replace").lower().rstrip(".")
    context = named.get(name) or named.get("*." + name.partition(".")[2])
    if context is not None:
        connection.set_context(context)


def _any_certificate(*_: object) -> bool:
    return True


def _text(error: SSL.Error) -> str:
    reasons = error.args[0] if error.args and isinstance(error.args[0], list) else []
    return "; ".join(str(reason[-1]) for reason in reasons) or str(error)


def _authorities(name: str) -> Iterable[Certificate]:
    """The certificates of a PEM file. Raises OSError, and ValueError with the file's name."""
    from cryptography import x509

    with open(name, "rb") as file:
        bundle = file.read()
    if b"BEGIN CERTIFICATE" not in bundle:
        raise ValueError(f"{name}: no certificate in PEM form")
    try:
        return x509.load_pem_x509_certificates(bundle)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _certificate_names(context: SSL.Context) -> list[str]:
    """The DNS names of a context's certificate, or its CN without any."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    certificate = SSL.Connection(context, None).get_certificate(as_cryptography=True)
    if certificate is None:
        return []
    try:
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return [str(name) for name in listed.get_values_for_type(x509.DNSName)]
    except x509.ExtensionNotFound:
        return [str(part.value) for part in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
