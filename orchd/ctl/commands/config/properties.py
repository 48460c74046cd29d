"""``config set`` and ``config unset``: single values of the client configuration by their paths."""

from __future__ import annotations

import base64
from typing import Any, Final

import click

from orchd.ctl.cluster.config_files import WORDS, ConfigFiles
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output

#: The fields of each list's entries that have one value.
_FIELDS: Final = {
    "clusters": (
        "server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name",
        "proxy-url", "disable-compression",
    ),
    "contexts": ("cluster", "user", "namespace"),
    "users": (
        "client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile",
        "username", "password", "as", "as-uid", "as-groups",
    ),
}  # fmt: skip
_SWITCHES: Final = ("insecure-skip-tls-verify", "disable-compression")


def split_property(path: str) -> tuple[str, str, str]:
    """List, name and field of a path such as ``clusters.a.b.server``; the field is "" for a whole entry. Raises
    CommandError."""
    key, _, rest = path.partition(".")
    if key not in WORDS or not rest:
        raise CommandError(
            f"{path!r}: write current-context, or LIST.NAME.FIELD with one of {', '.join(sorted(_FIELDS))}"
        )
    name, dot, field = rest.rpartition(".")
    # A name may have dots.
    return (key, name, field) if dot and field in _FIELDS[key] else (key, rest, "")


@click.command("set", cls=Command)
@click.argument("path", metavar="PROPERTY")
@click.argument("value")
@click.option(
    "--set-raw-bytes",
    "raw",
    is_flag=True,
    help="The value of a field such as certificate-authority-data is not in base64.",
)
@pass_session
def set_property(session: Session, path: str, value: str, raw: bool) -> None:
    """Set a value: current-context, or LIST.NAME.FIELD such as clusters.local.server."""
    files = ConfigFiles(session)
    if path == "current-context":
        holder = next(
            (each for each, document in files.documents.items() if document.get("current-context")), files.first()
        )
        files.write(holder, {"current-context": value})
    else:
        key, name, field = split_property(path)
        if not field:
            raise CommandError(f"{path!r}: which field? Those of {key} are {', '.join(_FIELDS[key])}")
        files.put(key, name, {field: _value(field, value, raw)})
    output.line(f'Property "{path}" set.')


def _value(field: str, text: str, raw: bool) -> Any:
    if field in _SWITCHES:
        if text.lower() not in ("true", "false"):
            raise CommandError(f"{field} is true or false, not {text!r}")
        return text.lower() == "true"
    if field == "as-groups":
        return [each for each in text.split(",") if each]
    if not field.endswith("-data"):
        return text
    if raw:
        return base64.b64encode(text.encode()).decode()
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        raise CommandError(f"{field} is in base64: encode the value, or give --set-raw-bytes") from None
    return text


@click.command("unset", cls=Command)
@click.argument("path", metavar="PROPERTY")
@pass_session
def unset(session: Session, path: str) -> None:
    """Remove a value: current-context, LIST.NAME such as users.alice, or LIST.NAME.FIELD."""
    files = ConfigFiles(session)
    if path == "current-context":
        for each, document in files.documents.items():
            if document.get("current-context"):
                files.write(each, {"current-context": ""})
    else:
        key, name, field = split_property(path)
        if field and files.holder(key, path.partition(".")[2]) is None:
            files.entry(key, name)
            files.put(key, name, {}, without=(field,))
        else:
            files.remove(key, path.partition(".")[2])
    output.line(f'Property "{path}" unset.')
