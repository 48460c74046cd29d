"""Serving key pairs are read from files and reloaded when these change."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import load_public_keys, new_key, private_pem
from orchd.server.key_pairs import KeyPair, key_pair
from orchd.testing.doubles.server import make_server


def write(folder: Path, name: str = "me") -> tuple[bytes, bytes]:
    signed = self_signed(name, names=[], now=datetime.now(UTC))
    pair = chain_pem(signed.certificate), private_pem(signed.key)
    for file, data in zip(("tls.crt", "tls.key"), pair, strict=True):
        (folder / file).write_bytes(data)
    return pair


def pair(folder: Path, clock: Clock) -> KeyPair:
    return key_pair("the-flag", str(folder / "tls.crt"), str(folder / "tls.key"), clock)


def test_changed_key_pair_files_are_reloaded(tmp_path: Path) -> None:
    """Changed files are read again after an interval; a key that does not match its certificate is ignored."""
    clock, first = Clock(), write(tmp_path)
    key_pair = pair(tmp_path, clock)
    assert key_pair() == first
    second = write(tmp_path)
    assert key_pair() == first
    clock.advance(10)
    assert key_pair() == second
    (tmp_path / "tls.crt").write_text("half")
    clock.advance(10)
    assert key_pair() == second
    third = write(tmp_path)
    clock.advance(10)
    assert key_pair() == third


def test_without_files_there_is_no_certificate() -> None:
    """Without files there is no certificate."""
    assert key_pair("the-flag", "", "", Clock())() == (b"", b"")


@pytest.mark.parametrize(
    ("flags", "verifies"),
    [
        ((), False),
        (("--tls-cert-file={}/tls.crt", "--tls-private-key-file={}/tls.key"), True),
        (("--tls-cert-file={}/tls.crt", "--tls-private-key-file={}/tls.key", "--service-account-key-file={}/other.key"), False),
        (
            ("--tls-cert-file={}/tls.crt", "--tls-private-key-file={}/tls.key", "--service-account-signing-key-file={}/other.key",
             "--service-account-issuer=https://i"),
            False,
        ),
    ],
)  # fmt: skip
def test_serving_key_verifies_tokens_by_default(tmp_path: Path, flags: tuple[str, ...], verifies: bool) -> None:
    """Without a flag for service account keys, the given serving key verifies tokens beside the signing key."""
    serving = load_public_keys(write(tmp_path)[1])
    (tmp_path / "other.key").write_bytes(private_pem(new_key()))
    server = make_server(tmp_path / "data", *(flag.format(tmp_path) for flag in flags))
    files = server.server.files
    assert (serving[0] in files.verification_keys) is verifies
    assert (files.signing_key.public_key() in files.verification_keys) is not any(
        "account-key-file" in flag for flag in flags
    )


def test_invalid_files_at_the_start_are_named(tmp_path: Path) -> None:
    """The error names the flag and the file."""
    with pytest.raises(ValueError, match=r"--the-flag: .*tls\.crt"):
        pair(tmp_path, Clock())
    write(tmp_path)
    (tmp_path / "tls.key").write_text("none")
    with pytest.raises(ValueError, match=r"--the-flag: .*tls\.crt and .*tls\.key are not a certificate and its key"):
        pair(tmp_path, Clock())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--orchlet-client-certificate={folder}/none", "--orchlet-client-key={folder}/none"],
            "--orchlet-client-certificate: .*none",
        ),
        (["--orchlet-certificate-authority={folder}/none"], "--orchlet-certificate-authority: .*none"),
        (
            ["--proxy-client-cert-file={folder}/none", "--proxy-client-key-file={folder}/none"],
            "--proxy-client-cert-file: .*none",
        ),
    ],
)
def test_missing_files_fail_the_start(tmp_path: Path, flags: list[str], message: str) -> None:
    """A server does not start if a file is missing."""
    with pytest.raises(ValueError, match=message):
        make_server(tmp_path, *(flag.format(folder=tmp_path) for flag in flags))


@pytest.mark.parametrize(
    "flag",
    [
        "client-ca-file",
        "service-account-key-file",
        "root-ca-file",
        "orchlet-certificate-authority",
        "requestheader-client-ca-file",
        "service-account-signing-key-file",
    ],
)
@pytest.mark.parametrize("content", [b"", bytes(range(256)), None])
def test_files_without_what_a_flag_needs_are_refused(tmp_path: Path, flag: str, content: bytes | None) -> None:
    """An empty, binary or missing file fails the start with flag and file, and is not taken for a flag that was not
    given."""
    file = tmp_path / "given"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=f"^--{flag}: .*{file}"):
        make_server(tmp_path / "data", f"--{flag}={file}", "--service-account-issuer=https://i")


def test_empty_certificate_of_a_pair_is_refused(tmp_path: Path) -> None:
    """An empty certificate file is not a pair without a certificate."""
    write(tmp_path)
    (tmp_path / "tls.crt").write_text("")
    with pytest.raises(ValueError, match=r"--the-flag: .*tls\.crt and .*tls\.key are not a certificate and its key"):
        pair(tmp_path, Clock())
