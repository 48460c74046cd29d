"""``certs``: certificates of the client configuration, and of a server on this machine (what ``orchd-certs`` does)."""

from __future__ import annotations

import click
from cryptography import x509

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output

#: The arguments are flags of the server, which this program does not parse.
_SERVER_FLAGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@click.group(cls=Group)
def certs() -> None:
    """Certificates of the client configuration, or of a server on this machine."""


@certs.command("show", context_settings=_SERVER_FLAGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SERVER FLAG...]")
@pass_session
def show(session: Session, words: tuple[str, ...]) -> int:
    """Print subject, issuer and expiry of the certificates that the current context uses. With flags of a server, such
    as --data-dir=DIR, print all certificates of that server and when it renews them."""
    if words:
        return _of_server("show", words)
    config = configuration.load(session.flags, session.environment)
    rows = []
    for use, pem in (("authority", config.authority), ("client", config.certificate)):
        try:
            certificates = x509.load_pem_x509_certificates(pem) if pem else []
        except ValueError as error:
            raise CommandError(f"the {use} certificate of the configuration cannot be read: {error}") from None
        for each in certificates:
            end = each.not_valid_after_utc.isoformat().replace("+00:00", "Z")
            rows.append([use, each.subject.rfc4514_string(), each.issuer.rfc4514_string(), end])
    if not rows:
        raise CommandError("the current context has no certificates, but another kind of credentials")
    output.Columns(["use", "subject", "issuer", "not after"]).write(rows)
    return 0


@certs.command("renew", context_settings=_SERVER_FLAGS)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SERVER FLAG...")
def renew(words: tuple[str, ...]) -> int:
    """Renew the serving certificate and the administrator's client certificate of the server with these flags
    (--data-dir=DIR). A running server presents them within seconds."""
    if not words:
        raise CommandError("give the flags of the server whose certificates are renewed: certs renew --data-dir=DIR")
    return _of_server("renew", words)


def _of_server(name: str, words: tuple[str, ...]) -> int:
    # Imported here because it imports the whole server, which takes long.
    from orchd import certcommands

    return min(certcommands.main([name, *words]), 1)
