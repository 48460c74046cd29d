"""Certificates and keys of files, as values of a client configuration."""

from __future__ import annotations

import base64
from pathlib import Path

import click

from orchd.ctl.cluster.configuration import read_bytes
from orchd.ctl.errors import CommandError
from orchd.kinds.jsonvalues import Object


def read_pem(path: str, flag: str) -> bytes:
    data = read_bytes(path, flag)
    if b"-----BEGIN " not in data:
        raise CommandError(f"{path}: no PEM block: check the path of {flag}")
    return data


def certificate_values(paths: dict[str, str], *, embed: bool) -> tuple[Object, tuple[str, ...]]:
    """Values of files by key, and the keys that they take the place of: the text itself with `embed`, else the path."""
    out: Object = {}
    without: list[str] = []
    for key, path in paths.items():
        if not path:
            continue
        data = read_pem(path, f"--{key}")
        without += [key, f"{key}-data"]
        if embed:
            out[f"{key}-data"] = base64.b64encode(data).decode()
        else:
            out[key] = str(Path(path).absolute())
    return out, tuple(without)


embed_option = click.option(
    "--embed-certs", "embed", is_flag=True, help="Embed the contents of the files instead of their paths."
)
