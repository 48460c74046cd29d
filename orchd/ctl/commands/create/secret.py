"""``create secret``: generic, tls or docker-registry."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Final

import click
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.configuration import read_bytes
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import create_made, create_options, named, pairs
from orchd.ctl.objects.data import (
    append_hash_option,
    check_sources,
    data_options,
    file_values,
    from_file_option,
    joined,
    variables,
    with_hash,
)
from orchd.kinds.jsonvalues import Object

#: The key of a registry's secret.
_REGISTRY_KEY: Final = ".dockerconfigjson"


class _Secrets(Group):
    """`create secret NAME` is `create secret generic NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not any(word in self.commands or word in ("-h", "--help") for word in args):
            args = ["generic", *args]
        return super().parse_args(ctx, args)


@click.group("secret", cls=_Secrets)
def secret() -> None:
    """Create a secret: generic, tls or docker-registry."""


def _create_secret(
    session: Session, name: str, type_: str, values: Mapping[str, bytes], append_hash: bool, dry_run: str, form: str
) -> None:
    """Create a secret; `type_` is a template of the dialect."""
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}

    async def make(api: Api) -> list[Object]:
        its_type = (await api.dialect())(type_) if "{" in type_ else type_
        obj = named("v1", "Secret", name, **({"type": its_type} if type_ else {}), **({"data": data} if data else {}))
        return [
            with_hash(obj, {"kind": "Secret", "type": its_type, "name": name, "data": data}) if append_hash else obj
        ]

    create_made(session, make, dry_run=dry_run, form=form)


@secret.command("generic")
@click.argument("name")
@click.option("--type", "type_", default="", help="Type of the secret; default: Opaque.")
@data_options
@pass_session
def create_secret(
    session: Session,
    name: str,
    type_: str,
    literals: tuple[str, ...],
    sources: tuple[str, ...],
    env_files: tuple[str, ...],
    append_hash: bool,
    dry_run: str,
    form: str,
) -> None:
    """Create a secret from literals and files."""
    check_sources(env_files, (*literals, *sources))
    texts = joined(pairs(literals, "--from-literal"), variables(env_files, session.environment))
    values = joined({key: value.encode() for key, value in texts.items()}, file_values(sources))
    _create_secret(session, name, type_, values, append_hash, dry_run, form)


def _pem(path: str, flag: str) -> bytes:
    if not path:
        raise CommandError("a TLS secret needs --cert and --key: give both files")
    return read_bytes(path, flag)


@secret.command("tls")
@click.argument("name")
@click.option("--cert", default="", metavar="FILE", help="Certificate in PEM form, with those of its issuers below it.")
@click.option("--key", "key", default="", metavar="FILE", help="Private key of the certificate in PEM form.")
@append_hash_option
@create_options
@pass_session
def create_tls_secret(
    session: Session, name: str, cert: str, key: str, append_hash: bool, dry_run: str, form: str
) -> None:
    """Create a secret from a certificate and its key."""
    values = {"tls.crt": _pem(cert, "--cert"), "tls.key": _pem(key, "--key")}
    _check_pair(values["tls.crt"], values["tls.key"])
    _create_secret(session, name, "{long}.io/tls", values, append_hash, dry_run, form)


def _check_pair(certificate: bytes, key: bytes) -> None:
    """Raises CommandError unless the key is that of the first certificate."""
    try:
        of_certificate = x509.load_pem_x509_certificates(certificate)[0].public_key()
    except ValueError:
        raise CommandError("--cert: not a certificate in PEM form: check the file") from None
    try:
        of_key = serialization.load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise CommandError("--key: not a private key in PEM form without a password: check the file") from None
    kinds = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if of_certificate.public_bytes(*kinds) != of_key.public_bytes(*kinds):
        raise CommandError("--key is not the key of the certificate of --cert: give the files of one pair")


@secret.command("docker-registry")
@click.argument("name")
@click.option(
    "--docker-server",
    "server",
    default="https://index.docker.io/v1/",
    show_default=True,
    help="Address of the registry.",
)
@click.option("--docker-username", "username", default="", help="User of the registry.")
@click.option("--docker-password", "password", default="", help="Password of the user.")
@click.option("--docker-email", "email", default="", help="E-mail address of the user.")
@from_file_option
@append_hash_option
@create_options
@pass_session
def create_registry_secret(
    session: Session,
    name: str,
    server: str,
    username: str,
    password: str,
    email: str,
    sources: tuple[str, ...],
    append_hash: bool,
    dry_run: str,
    form: str,
) -> None:
    """Create a secret with credentials for an image registry."""
    if sources:
        if username or password or email:
            raise CommandError(
                "--from-file goes without --docker-username, --docker-password and --docker-email: leave out one"
            )
        values = file_values(sources)
        if set(values) != {_REGISTRY_KEY}:
            raise CommandError(
                f"--from-file: write --from-file={_REGISTRY_KEY}=FILE, the configuration of a registry client"
            )
        _check_json(values[_REGISTRY_KEY])
    else:
        if not username or not password:
            raise CommandError("a registry's secret needs --docker-username and --docker-password, or --from-file")
        entry = {"username": username, "password": password, **({"email": email} if email else {})}
        entry["auth"] = base64.b64encode(f"{username}:{password}".encode()).decode()
        values = {_REGISTRY_KEY: json.dumps({"auths": {server: entry}}, separators=(",", ":")).encode()}
    _create_secret(session, name, "{long}.io/dockerconfigjson", values, append_hash, dry_run, form)


def _check_json(data: bytes) -> None:
    try:
        json.loads(data)
    except ValueError:
        raise CommandError(
            f"--from-file: the configuration of a registry client is JSON: check the file of {_REGISTRY_KEY}"
        ) from None
