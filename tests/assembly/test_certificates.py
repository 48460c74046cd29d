"""A running server renews its own certificates and warns about those that expire."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchd.certcommands import main
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.pki.bootstrap import ensure
from orchd.pki.certificates import chain_pem, issue_pair, new_authority, subject
from orchd.pki.expiry import read_expiry
from orchd.pki.keys import private_pem
from orchd.server.reconcilers.certificates import INTERVAL
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run

EVENTS = ResourceRef("", "v1", "events")
DAY = 86400.0


class Aging:
    """A server whose wall clock a test moves."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.passed = 0.0
        self.server: InProcessServer = make_server(folder, *flags, wall=lambda: NOW + self.passed)
        self.made = self.server.server.files.certificates

    def age(self, days: float) -> None:
        """Advance the clock by days, then let the server check its certificates."""
        self.passed += days * DAY
        self.server.clock.advance(INTERVAL)
        self.server.clock.advance(1)

    def warnings(self) -> list[str]:
        items = run(self.server.client().list(EVENTS, "default"))["items"]
        return [e["message"] for e in items if e["reason"] == "CertificateExpiring"]


def test_own_certificates_are_renewed_after_two_thirds_of_their_life(tmp_path: Path) -> None:
    """Certificates that the server issued are renewed after two thirds of their lifetime and not before, and with them
    the kubeconfig."""
    aging = Aging(tmp_path)
    files = (aging.made.serving_certificate, aging.made.admin_certificate, aging.made.admin_config)
    before = [path.read_bytes() for path in files]
    authority = aging.made.ca_certificate.read_bytes()
    aging.age(240)
    assert [path.read_bytes() for path in files] == before
    aging.age(5)
    assert not set(before) & {path.read_bytes() for path in files}
    assert aging.made.ca_certificate.read_bytes() == authority
    ends = aging.server.server.background.certificates.renewal.ends()
    assert ends["serving"] == NOW + (245 + 365) * DAY
    assert not aging.warnings()
    aging.server.stop()


def test_provided_certificates_are_never_replaced(tmp_path: Path) -> None:
    """A certificate from a flag is never replaced; its coming expiry is reported once a day."""
    now = datetime.fromtimestamp(NOW, UTC)
    pair = issue_pair(
        new_authority("x", now=now), subject("s"), usages=[], names=["s"], now=now, lifetime=timedelta(days=60)
    )
    certificate, key = tmp_path / "s.crt", tmp_path / "s.key"
    certificate.write_bytes(chain_pem(pair.certificate))
    key.write_bytes(private_pem(pair.key))
    aging = Aging(tmp_path / "data", f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}")
    aging.age(40)
    assert not aging.warnings()
    aging.age(10)
    [said] = aging.warnings()
    assert said.startswith(f"certificate serving ({certificate}) expires at ")
    # Events expire after an hour, and each check advances the clock by an hour: events found now are new.
    aging.age(0.1)
    assert not aging.warnings()
    aging.age(1)
    assert len(aging.warnings()) == 1
    aging.age(11)
    assert any("has expired at" in each for each in aging.warnings())
    assert certificate.read_bytes() == chain_pem(pair.certificate)
    aging.server.stop()


def test_expiry_of_all_certificates_is_a_metric(tmp_path: Path) -> None:
    """The expiry of every certificate is a metric."""
    aging = Aging(tmp_path)
    text = run(aging.server.request("GET", "/metrics")).body.decode()
    for name in ("serving", "admin", "authority"):
        assert f'orchd_certificate_expiration_timestamp_seconds{{certificate="{name}"}}' in text
    aging.server.stop()


def command(*words: str) -> tuple[int, str, str]:
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        return main(list(words)), out.getvalue(), error.getvalue()


def test_show_and_renew_commands(tmp_path: Path) -> None:
    """The `certificates` command shows all certificates and renews the server's own, but never its authority."""
    flag = f"--data-dir={tmp_path}"
    status, _, error = command("show", flag)
    assert (status, "has no certificates" in error) == (1, True)
    aging = Aging(tmp_path)
    aging.server.stop()
    before = [p.read_bytes() for p in (aging.made.serving_certificate, aging.made.ca_certificate)]
    status, text, _ = command("show", flag)
    assert status == 0
    assert [line.split()[0] for line in text.splitlines()] == ["NAME", "serving", "admin", "authority"]
    assert command("renew", flag)[0] == 0
    after = [p.read_bytes() for p in (aging.made.serving_certificate, aging.made.ca_certificate)]
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)


def test_invalid_command_line_has_its_own_exit_status(tmp_path: Path) -> None:
    """An invalid command line has another exit status than a command that failed."""
    assert command("forget")[0] == 2
    assert command("show", "--no-such-flag")[0] == 2
    assert command("--help")[0] == 0
    aging = Aging(tmp_path)
    aging.server.stop()
    aging.made.admin_certificate.write_bytes(b"?")
    status, _, error = command("show", f"--data-dir={tmp_path}")
    assert (status, str(aging.made.admin_certificate) in error) == (1, True)


def test_show_fails_if_a_certificate_has_expired(tmp_path: Path) -> None:
    """`show` fails if a certificate has expired, for use in monitoring."""
    ensure(tmp_path, dialect=ORCH, server_url="https://localhost", now=datetime(2020, 1, 1, tzinfo=UTC))
    assert command("show", f"--data-dir={tmp_path}")[0] == 1
    expiry = read_expiry("admin", tmp_path / "pki" / "admin.crt", renewed=True)
    assert expiry.ends == datetime(2020, 12, 31, tzinfo=UTC)
