"""``config view``: the effective configuration."""

from __future__ import annotations

import base64
from typing import Any

import click

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.configuration import read_bytes
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing.forms import form_options
from orchd.ctl.printing.printers import printer
from orchd.kinds.jsonvalues import Object


def _redacted(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _redacted(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redacted(inner) for inner in value]
    if key in ("token", "password"):
        return "REDACTED"
    return "DATA+OMITTED" if key.endswith("-data") else value


@click.command("view", cls=Command)
@click.option("--raw", is_flag=True, help="Print keys, tokens and certificates as well.")
@click.option("--minify", is_flag=True, help="Only what the current context uses.")
@click.option("--flatten", is_flag=True, help="Print the text of the files that are named instead of their paths.")
@click.option("--merge/--no-merge", default=True, hidden=True, expose_value=False, help="Files are always merged.")
@form_options("yaml")
@pass_session
def view(session: Session, raw: bool, minify: bool, flatten: bool, form: str) -> None:
    """Print the effective configuration, merged from all files."""
    document = configuration.read_document(session.flags, session.environment)
    if minify:
        name = session.flags.context or document.get("current-context", "")
        context = next((each for each in document["contexts"] if each["name"] == name), None)
        if context is None:
            raise CommandError(f"no context {name!r}: config get-contexts lists them")
        inner = context["context"]
        document = {
            **document, "contexts": [context], "current-context": name,
            "clusters": [each for each in document["clusters"] if each["name"] == inner.get("cluster")],
            "users": [each for each in document["users"] if each["name"] == inner.get("user")],
        }  # fmt: skip
    document.setdefault("preferences", {})
    if flatten:
        document = _flattened(document)
    printer(form, label=lambda obj: "config")([document if raw else _redacted(document)], True)


def _flattened(document: Object) -> Object:
    """The document with the text of files in place of their paths. Raises CommandError for a file that cannot be
    read."""
    out = dict(document)
    for key, inner, names in (
        ("clusters", "cluster", ("certificate-authority",)), ("users", "user", ("client-certificate", "client-key"))
    ):  # fmt: skip
        entries = []
        for each in document[key]:
            values = dict(each.get(inner) or {})
            for name in names:
                if values.get(name):
                    values[f"{name}-data"] = base64.b64encode(
                        read_bytes(values.pop(name), f"{inner} {each['name']}")
                    ).decode()
            entries.append({**each, inner: values})
        out[key] = entries
    return out
