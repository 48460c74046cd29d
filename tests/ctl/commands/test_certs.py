"""``certs``: certificates of the client configuration."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from orchd.pki.certificates import chain_pem, self_signed
from tests.ctl.ctl_runner import Ctl

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def certificate(name: str) -> Any:
    return self_signed(name, names=["localhost"], now=NOW).certificate


@pytest.fixture
def ctl() -> Ctl:
    """Without a server, which these commands do not ask."""
    return Ctl(cast(Any, None))


@pytest.fixture
def configure(ctl: Ctl, tmp_path: Path) -> Any:
    """Writes the client configuration of later commands."""

    def write(authority: bytes = b"", client: bytes = b"") -> None:
        def data(**members: bytes) -> dict[str, str]:
            return {name: base64.b64encode(pem).decode() for name, pem in members.items() if pem}

        key = b"key" if client else b""
        document = {
            "clusters": [
                {"name": "c", "cluster": {"server": "https://x", **data(**{"certificate-authority-data": authority})}}
            ],
            "users": [{"name": "u", "user": data(**{"client-certificate-data": client, "client-key-data": key})}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (tmp_path / "config").write_text(yaml.safe_dump(document))

    ctl.environment = {"HOME": str(tmp_path)}
    return write


def test_certificates_of_the_context(ctl: Ctl, configure: Any, tmp_path: Path) -> None:
    """A row for each certificate: what it is used for, names and the end."""
    configure(chain_pem(certificate("one"), certificate("two")), chain_pem(certificate("me")))
    ran = ctl("--config", str(tmp_path / "config"), "certs", "show")
    heading, *rows = [line.split("   ") for line in ran.lines]
    assert heading[0] == "USE"
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert [row[:3] for row in cells] == [
        ["authority", "CN=one", "CN=one"],
        ["authority", "CN=two", "CN=two"],
        ["client", "CN=me", "CN=me"],
    ]
    assert all(row[3].startswith("20") and row[3].endswith("Z") for row in cells)


def test_contexts_without_certificates(ctl: Ctl, configure: Any, tmp_path: Path) -> None:
    configure()
    flag = ("--config", str(tmp_path / "config"))
    assert "has no certificates, but another kind" in ctl(*flag, "certs", "show", status=1).error
    configure(b"none")
    assert (
        "the authority certificate of the configuration cannot be read" in ctl(*flag, "certs", "show", status=1).error
    )


def test_certificates_of_a_server(ctl: Ctl, tmp_path: Path) -> None:
    """With flags of a server the certificates in its folder are shown and renewed."""
    assert "give the flags of the server" in ctl("certs", "renew", status=1).error
    # Its errors are its own.
    with pytest.raises(AssertionError, match="ended with 1"):
        ctl("certs", "renew", "--no-such-flag")
