"""Keys and certificates in the data directory: created at the first start, renewed before they expire."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from orchd.dialect import Dialect
from orchd.pki.certificates import (
    CLIENT,
    SERVER,
    Signed,
    alternative_names,
    chain_pem,
    issue_pair,
    load_chain,
    new_authority,
    subject,
)
from orchd.pki.clientconfig import ClientConfig
from orchd.pki.expiry import due
from orchd.pki.keys import load_private, new_signing_key, private_pem, public_pem

#: DNS names of the API server's Service inside the cluster.
IN_CLUSTER_NAMES = ("{long}", "{long}.default", "{long}.default.svc", "{long}.default.svc.cluster.local")
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Paths of the files that `ensure` maintains. `admin_config` is the client configuration file of the administrator,
    `serving_folder` (--cert-dir) contains the serving certificate."""

    folder: Path
    serving_folder: Path
    admin_config: Path

    @staticmethod
    def below(data_dir: str | Path, dialect: Dialect, serving_folder: str | Path | None = None) -> Files:
        """The files of a data folder, whether they exist or not."""
        top = Path(data_dir)
        folder = top / "pki"
        return Files(
            folder=folder,
            serving_folder=Path(serving_folder) if serving_folder else folder,
            admin_config=top / f"admin.{dialect.config_file_kind}",
        )

    @property
    def ca_certificate(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.folder / "ca.key"

    @property
    def serving_certificate(self) -> Path:
        return self.serving_folder / "apiserver.crt"

    @property
    def serving_key(self) -> Path:
        return self.serving_folder / "apiserver.key"

    @property
    def signing_key(self) -> Path:
        """The private key that signs service account tokens."""
        return self.folder / "sa.key"

    @property
    def verification_key(self) -> Path:
        """The public key that verifies service account tokens."""
        return self.folder / "sa.pub"

    @property
    def admin_certificate(self) -> Path:
        return self.folder / "admin.crt"

    @property
    def admin_key(self) -> Path:
        return self.folder / "admin.key"


def ensure(
    data_dir: Path,
    *,
    dialect: Dialect,
    server_url: str,
    now: datetime,
    names: Iterable[str] = (),
    hostname: str | None = None,
    serving_folder: Path | None = None,
    renew: bool = False,
    durable: bool = True,
) -> Files:
    """Create missing files in ``data_dir/pki``, ``data_dir/admin.*config`` and `serving_folder`; renew expiring
    certificates.

    `server_url` is written to the administrator's configuration. `names` are additional host names and IP addresses of
    the serving certificate: bind and advertise address (unspecified addresses such as 0.0.0.0 are skipped), the first
    service address. `hostname` defaults to that of this machine. `now` is an aware datetime. With `renew` certificates
    are issued anew even when they are not due. Without `durable`, files are not synced to disk: for folders that need
    not outlast a crash of the machine. The CA and the service account key are never replaced. Directories get mode
    0700, files
    0600. Raises OSError, or ValueError for unusable files.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = Files.below(data_dir, dialect, serving_folder)
    files.folder.mkdir(mode=0o700, exist_ok=True)
    files.serving_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _authority(files, dialect, now, durable)
    own = [*("localhost", "127.0.0.1", "::1"), socket.gethostname() if hostname is None else hostname, *names]
    serving_names = [*(dialect(name) for name in IN_CLUSTER_NAMES), *(name for name in own if _nameable(name))]
    issuer = _Issuer(authority=authority, now=now, renew=renew, durable=durable)
    serving = files.serving_certificate, files.serving_key
    issuer.issue(serving, subject(dialect("{short}-apiserver")), [SERVER], serving_names)
    admin = issuer.issue(
        (files.admin_certificate, files.admin_key), subject(dialect("{long}-admin"), [MASTERS]), [CLIENT], []
    )
    _signing_key(files, durable)
    config = ClientConfig(
        server=server_url,
        authority=chain_pem(authority.certificate),
        certificate=chain_pem(admin.certificate),
        key=private_pem(admin.key),
        cluster=dialect("{long}"),
        user=dialect("{long}-admin"),
    )
    text = config.render().encode()
    if not files.admin_config.exists() or files.admin_config.read_bytes() != text:
        write_private(files.admin_config, text, durable=durable)
    return files


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file atomically with mode 0600. With `durable` it is on disk when this returns. Raises OSError that names
    the file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            if durable:
                os.fsync(out.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            # Errors of writes do not name their file.
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _nameable(name: str) -> bool:
    """True for names that a certificate can contain: neither empty nor an unspecified address."""
    return name not in ("", "0.0.0.0", "::")


def _load(certificate: Path, key: Path) -> Signed:
    try:
        first, *others = load_chain(certificate.read_bytes())
        return Signed(certificate=first, key=load_private(key.read_bytes()), chain=tuple(others))
    except ValueError as error:
        raise ValueError(f"{certificate} or {key.name}: {error}") from error


def _store(certificate: Path, key: Path, signed: Signed, durable: bool) -> None:
    # The key first: at the next start, a certificate must have its key.
    write_private(key, private_pem(signed.key), durable=durable)
    write_private(certificate, chain_pem(signed.certificate, *signed.chain), durable=durable)


def _authority(files: Files, dialect: Dialect, now: datetime, durable: bool) -> Signed:
    if files.ca_certificate.exists():
        return _load(files.ca_certificate, files.ca_key)
    authority = new_authority(dialect("{long}"), now=now)
    _store(files.ca_certificate, files.ca_key, authority, durable)
    return authority


@dataclass(frozen=True, slots=True, kw_only=True)
class _Issuer:
    """Issues certificates of an authority at the time `now`: with `renew` also those that are not due."""

    authority: Signed
    now: datetime
    renew: bool
    durable: bool

    def issue(
        self, pair: tuple[Path, Path], holder: x509.Name, usages: Iterable[x509.ObjectIdentifier], names: list[str]
    ) -> Signed:
        """The certificate and key in the files `pair` if they are usable and not to be renewed, else new ones."""
        certificate, key = pair
        if not self.renew and certificate.exists() and key.exists():
            present = _load(certificate, key)
            if _is_usable(present, self.authority, holder, names, self.now):
                return present
        renewed = issue_pair(self.authority, holder, usages=usages, names=names, now=self.now)
        _store(certificate, key, renewed, self.durable)
        return renewed


def _is_usable(pair: Signed, authority: Signed, holder: x509.Name, names: list[str], now: datetime) -> bool:
    certificate = pair.certificate
    if certificate.subject != holder or pair.key.public_key() != certificate.public_key():
        return False
    ends = certificate.not_valid_after_utc
    # A leaf that expires together with its CA cannot be extended; renewing it would repeat at every start.
    if due(certificate, now) and ends < authority.certificate.not_valid_after_utc:
        return False
    try:
        certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):  # each means that another CA issued it
        return False
    if not names:
        return True
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return set(alternative_names(names)) <= set(alternatives)


def _signing_key(files: Files, durable: bool) -> None:
    if files.signing_key.exists():
        if not files.verification_key.exists():
            key = load_private(files.signing_key.read_bytes())
            write_private(files.verification_key, public_pem(key.public_key()), durable=durable)
        return
    new_key = new_signing_key()
    write_private(files.verification_key, public_pem(new_key.public_key()), durable=durable)
    write_private(files.signing_key, private_pem(new_key), durable=durable)
