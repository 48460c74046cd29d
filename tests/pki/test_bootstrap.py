"""A data folder gets its keys at the first start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from orchd.dialect import KUBERNETES, ORCH
from orchd.pki.bootstrap import Files, ensure
from orchd.pki.certificates import identity, load_chain
from orchd.pki.clientconfig import load
from orchd.pki.keys import load_private, load_public_keys
from orchd.pki.verify import ClientVerifier

NOW = datetime(2026, 3, 1, tzinfo=UTC)
URL = "https://127.0.0.1:6443"


def _ensure(folder: Path, now: datetime = NOW, names: tuple[str, ...] = ("10.0.0.1",), url: str = URL) -> Files:
    return ensure(folder, dialect=ORCH, server_url=url, now=now, names=names, hostname="box")


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_first_start_creates_private_files(tmp_path: Path) -> None:
    """Folders are 0700 and files 0600, the serving certificate has the server's names, and the admin is in the masters'
    group."""
    data = tmp_path / "data"
    files = _ensure(data)
    assert all(path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600) for path in [data, *data.rglob("*")])
    (serving,) = load_chain(files.serving_certificate.read_bytes())
    names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(name.value) for name in names} >= {
        "localhost", "127.0.0.1", "::1", "box", "10.0.0.1", ORCH("{long}.default.svc"),
    }  # fmt: skip
    assert isinstance(load_private(files.signing_key.read_bytes()), rsa.RSAPrivateKey)
    assert len(load_public_keys(files.verification_key.read_bytes())) == 1
    config = load(files.admin_config)
    assert config.server == URL
    (admin,) = load_chain(config.certificate)
    assert identity(admin).groups == ("system:masters",)
    assert load_private(config.key).public_key() == admin.public_key()
    assert config.authority == files.ca_certificate.read_bytes()


def test_second_start_reuses_all_files(tmp_path: Path) -> None:
    """Valid files are not written again."""
    _ensure(tmp_path)
    before = _contents(tmp_path)
    _ensure(tmp_path, NOW + timedelta(days=100))
    assert _contents(tmp_path) == before


def test_expiring_certificates_are_renewed(tmp_path: Path) -> None:
    """Certificates that expire soon are renewed; the authority and the signing key stay."""
    _ensure(tmp_path)
    before = _contents(tmp_path)
    files = _ensure(tmp_path, NOW + timedelta(days=350))
    after = _contents(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {
        "pki/apiserver.crt", "pki/apiserver.key", "pki/admin.crt", "pki/admin.key", files.admin_config.name,
    }  # fmt: skip


def test_new_address_renews_the_serving_certificate(tmp_path: Path) -> None:
    """A new address renews the serving certificate; a new port only the kubeconfig."""
    _ensure(tmp_path)
    before = _contents(tmp_path)
    files = _ensure(tmp_path, names=("10.0.0.1", "192.0.2.7"), url="https://192.0.2.7:1")
    after = _contents(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"pki/apiserver.crt", "pki/apiserver.key", files.admin_config.name}


def test_configuration_file_is_named_after_the_dialect(tmp_path: Path) -> None:
    """The name of the client configuration file is the dialect's."""
    files = ensure(tmp_path, dialect=KUBERNETES, server_url=URL, now=NOW)
    assert files.admin_config.name == f"admin.{KUBERNETES.config_file_kind}"


def test_damaged_file_is_named_and_kept(tmp_path: Path) -> None:
    """A damaged file is an error that names it; it is never replaced."""
    files = _ensure(tmp_path)
    files.ca_certificate.write_text("nothing")
    with pytest.raises(ValueError, match=r"ca\.crt"):
        _ensure(tmp_path)


def test_admin_certificate_verifies(tmp_path: Path) -> None:
    """The server's own verifier accepts the admin's certificate."""
    files = _ensure(tmp_path)
    (admin,) = load_chain(files.admin_certificate.read_bytes())
    from cryptography.hazmat.primitives.serialization import Encoding

    verified = ClientVerifier(files.ca_certificate.read_bytes()).verify([admin.public_bytes(Encoding.DER)], now=NOW)
    assert verified.identity.name == ORCH("{long}-admin")
    assert verified.expires == admin.not_valid_after_utc
