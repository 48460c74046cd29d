"""``create configmap``: from literals, files and variables."""

from __future__ import annotations

import base64

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_all, named, pairs
from orchd.ctl.objects.data import check_sources, data_options, file_values, joined, variables, with_hash


@click.command("configmap", cls=Command)
@click.argument("name")
@data_options
@pass_session
def create_config_map(
    session: Session,
    name: str,
    literals: tuple[str, ...],
    sources: tuple[str, ...],
    env_files: tuple[str, ...],
    append_hash: bool,
    dry_run: str,
    form: str,
) -> None:
    """Create a config map from literals and files."""
    check_sources(env_files, (*literals, *sources))
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    values = joined(pairs(literals, "--from-literal"), variables(env_files, session.environment), file_values(sources))
    for key, value in values.items():
        try:
            data[key] = value if isinstance(value, str) else value.decode()
        except UnicodeDecodeError:
            binary[key] = base64.b64encode(value).decode()
    more = {**({"data": data} if data else {}), **({"binaryData": binary} if binary else {})}
    obj = named("v1", "ConfigMap", name, **more)
    if append_hash:
        obj = with_hash(
            obj, {"kind": "ConfigMap", "name": name, "data": data, **({"binaryData": binary} if binary else {})}
        )
    create_all(session, [obj], dry_run=dry_run, form=form)
