"""``create configmap`` and ``create secret``: objects of literals, files and variables."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from orchd.ctl.api import Api
from orchd.ctl.command import F, Group, stacked
from orchd.ctl.create import create, create_all, create_made, create_options, named, pairs
from orchd.ctl.errors import CommandError
from orchd.ctl.session import Session, pass_session
from orchd.kinds.jsonvalues import Object


def _file_values(given: tuple[str, ...]) -> dict[str, bytes]:
    """The contents of --from-file arguments: FILE, KEY=FILE, or a folder."""
    out: dict[str, bytes] = {}
    for each in given:
        key, mark, name = each.rpartition("=")
        path = Path(name)
        paths = sorted(path.iterdir()) if path.is_dir() and not mark else [path]
        for one in filter(lambda p: p.is_file() or p == path, paths):
            if (key or one.name) in out:
                raise CommandError(f"--from-file={each}: there is a value for {key or one.name} already: leave out one of them")
            try:
                out[key or one.name] = one.read_bytes()
            except OSError as error:
                raise CommandError(f"{one}: {error.strerror}: check the path of --from-file") from None
    return out


def _variables(given: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of --from-env-file arguments: lines of KEY=VALUE, or of a KEY whose value is that of `environment`."""
    out: dict[str, str] = {}
    for name in given:
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{name}: {getattr(error, 'strerror', None) or 'not UTF-8'}: check --from-env-file") from None
        for number, line in enumerate(text.splitlines(), 1):
            key, mark, value = line.lstrip().partition("=")
            if not line.strip() or key.startswith("#"):
                continue
            if not re.fullmatch(r"[-._a-zA-Z][-._a-zA-Z0-9]*", key):
                raise CommandError(f"{name}: line {number}: {key!r} is not the name of a variable: write KEY=VALUE")
            out[key] = value if mark else environment.get(key, "")
    return out


def _only_variables(env_files: tuple[str, ...], others: tuple[str, ...]) -> None:
    if env_files and others:
        raise CommandError("--from-env-file cannot be combined with --from-file or --from-literal: leave out one of them")


_env_file = click.option("--from-env-file", "env_files", multiple=True, metavar="FILE", help="Values from a file of KEY=VALUE lines.")
_literal = click.option("--from-literal", "literals", multiple=True, metavar="KEY=VALUE", help="A value; may be repeated.")
_from_file = click.option("--from-file", "sources", multiple=True, metavar="[KEY=]FILE", help="A value from a file or folder.")
_data_options: Callable[[F], F] = stacked(
    _literal, _from_file, _env_file,
    click.option("--append-hash", is_flag=True, help="Append a hash of the contents to the name."),
    create_options,
)  # fmt: skip


def _joined(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """All values. Raises CommandError for a key that two sources have."""
    out: dict[str, Any] = {}
    for source in sources:
        for key, value in source.items():
            if key in out:
                raise CommandError(f"there is more than one value for {key}: leave out one of them")
            out[key] = value
    return out


def _with_hash(obj: Object, hashed: Object) -> Object:
    """The object with the hash of `hashed` at the end of its name, as kustomizations append it."""
    text = json.dumps(hashed, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    # Without vowels and without digits that look like letters, so that no words come out.
    suffix = hashlib.sha256(text.encode()).hexdigest()[:10].translate(str.maketrans("013ae", "ghkmt"))
    return {**obj, "metadata": {**obj["metadata"], "name": f"{obj['metadata']['name']}-{suffix}"}}


@create.command("configmap")
@click.argument("name")
@_data_options
@pass_session
def create_config_map(
    session: Session, name: str, literals: tuple[str, ...], sources: tuple[str, ...], env_files: tuple[str, ...], append_hash: bool,
    dry_run: str, form: str,
) -> None:
    """Create a config map from literals and files."""  # fmt: skip
    _only_variables(env_files, (*literals, *sources))
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    values = _joined(pairs(literals, "--from-literal"), _variables(env_files, session.environment), _file_values(sources))
    for key, value in values.items():
        try:
            data[key] = value if isinstance(value, str) else value.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(value).decode()
    more = {**({"data": data} if data else {}), **({"binaryData": binary} if binary else {})}
    obj = named("v1", "ConfigMap", name, **more)
    if append_hash:
        obj = _with_hash(obj, {"kind": "ConfigMap", "name": name, "data": data, **({"binaryData": binary} if binary else {})})
    create_all(session, [obj], dry_run=dry_run, form=form)


# -- secrets

#: The key of a registry's secret.
_REGISTRY_KEY: Final = ".dockerconfigjson"


class _Secrets(Group):
    """`create secret NAME` is `create secret generic NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not any(word in self.commands or word in ("-h", "--help") for word in args):
            args = ["generic", *args]
        return super().parse_args(ctx, args)


@create.group("secret", cls=_Secrets)
def secret() -> None:
    """Create a secret: generic, tls or docker-registry."""


def _create_secret(session: Session, name: str, type_: str, values: Mapping[str, bytes], append_hash: bool, dry_run: str, form: str) -> None:
    """Create a secret; `type_` is a template of the dialect."""
    data = {key: base64.b64encode(value).decode() for key, value in values.items()}

    async def make(api: Api) -> list[Object]:
        its_type = (await api.dialect())(type_) if "{" in type_ else type_
        obj = named("v1", "Secret", name, **({"type": its_type} if type_ else {}), **({"data": data} if data else {}))
        return [_with_hash(obj, {"kind": "Secret", "type": its_type, "name": name, "data": data}) if append_hash else obj]

    create_made(session, make, dry_run=dry_run, form=form)


@secret.command("generic")
@click.argument("name")
@click.option("--type", "type_", default="", help="Type of the secret; default: Opaque.")
@_data_options
@pass_session
def create_secret(
    session: Session, name: str, type_: str, literals: tuple[str, ...], sources: tuple[str, ...], env_files: tuple[str, ...],
    append_hash: bool, dry_run: str, form: str,
) -> None:
    """Create a secret from literals and files."""  # fmt: skip
    _only_variables(env_files, (*literals, *sources))
    texts = _joined(pairs(literals, "--from-literal"), _variables(env_files, session.environment))
    values = _joined({key: value.encode() for key, value in texts.items()}, _file_values(sources))
    _create_secret(session, name, type_, values, append_hash, dry_run, form)


_append_hash = click.option("--append-hash", is_flag=True, help="Append a hash of the contents to the name.")


def _pem(path: str, flag: str) -> bytes:
    if not path:
        raise CommandError("a TLS secret needs --cert and --key: give both files")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: check the path of {flag}") from None
    return data


@secret.command("tls")
@click.argument("name")
@click.option("--cert", default="", metavar="FILE", help="Certificate in PEM form, with those of its issuers below it.")
@click.option("--key", "key", default="", metavar="FILE", help="Private key of the certificate in PEM form.")
@_append_hash
@create_options
@pass_session
def create_tls_secret(session: Session, name: str, cert: str, key: str, append_hash: bool, dry_run: str, form: str) -> None:
    """Create a secret of a certificate and its key."""
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
@click.option("--docker-server", "server", default="https://index.docker.io/v1/", show_default=True, help="Address of the registry.")
@click.option("--docker-username", "username", default="", help="User of the registry.")
@click.option("--docker-password", "password", default="", help="Password of the user.")
@click.option("--docker-email", "email", default="", help="E-mail address of the user.")
@_from_file
@_append_hash
@create_options
@pass_session
def create_registry_secret(
    session: Session, name: str, server: str, username: str, password: str, email: str, sources: tuple[str, ...], append_hash: bool,
    dry_run: str, form: str,
) -> None:
    """Create a secret with which images are pulled from a registry."""  # fmt: skip
    if sources:
        if username or password or email:
            raise CommandError("--from-file goes without --docker-username, --docker-password and --docker-email: leave out one")
        values = _file_values(sources)
        if set(values) != {_REGISTRY_KEY}:
            raise CommandError(f"--from-file: write --from-file={_REGISTRY_KEY}=FILE, the configuration of a registry client")
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
        raise CommandError(f"--from-file: the configuration of a registry client is JSON: check the file of {_REGISTRY_KEY}") from None
