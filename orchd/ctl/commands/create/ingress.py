"""``create ingress``."""

from __future__ import annotations

import re

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import create_made, create_options, named, pairs
from orchd.kinds.jsonvalues import Object

#: HOST/PATH=SERVICE:PORT[,tls[=SECRET]]; a path that ends in * stands for all below it.
_RULE = re.compile(
    r"(?P<host>[^/=,]*)(?P<path>/[^=,]*)=(?P<service>[^:=,]+):(?P<port>[^=,]+)(?P<tls>,tls(?:=(?P<secret>[^=,]+))?)?\Z"
)


def _backend(service: str, port: str) -> Object:
    return {"service": {"name": service, "port": {"number": int(port)} if port.isdecimal() else {"name": port}}}


@click.command("ingress", cls=Command)
@click.argument("name")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="HOST/PATH=SERVICE:PORT[,tls[=SECRET]]",
    help="A rule; PATH* matches all paths below; may be repeated.",
)
@click.option("--class", "class_", default="", help="The ingress class.")
@click.option(
    "--default-backend", default="", metavar="SERVICE:PORT", help="Backend for requests that no rule matches."
)
@click.option("--annotation", "notes", multiple=True, metavar="KEY=VALUE", help="An annotation; may be repeated.")
@create_options
@pass_session
def create_ingress(
    session: Session,
    name: str,
    rules: tuple[str, ...],
    class_: str,
    default_backend: str,
    notes: tuple[str, ...],
    dry_run: str,
    form: str,
) -> None:
    """Create an ingress from rules."""
    spec: Object = {"ingressClassName": class_} if class_ else {}
    if default_backend:
        target, colon, port = default_backend.partition(":")
        if not target or not colon or not port:
            raise CommandError(f"--default-backend={default_backend}: write SERVICE:PORT")
        spec["defaultBackend"] = _backend(target, port)
    if not rules and not default_backend:
        raise CommandError("which rules? Give --rule=HOST/PATH=SERVICE:PORT, or --default-backend")
    by_host: dict[str, list[Object]] = {}
    tls: dict[str, list[str]] = {}
    for each in rules:
        match = _RULE.match(each)
        if match is None:
            raise CommandError(f"--rule={each}: write HOST/PATH=SERVICE:PORT or HOST/PATH=SERVICE:PORT,tls=SECRET")
        prefix = match["path"].endswith("*")
        path = {"path": match["path"].rstrip("*"), "pathType": "Prefix" if prefix else "Exact"}
        by_host.setdefault(match["host"], []).append({**path, "backend": _backend(match["service"], match["port"])})
        if match["tls"]:
            hosts = tls.setdefault(match["secret"] or "", [])
            if match["host"] and match["host"] not in hosts:
                hosts.append(match["host"])
    if by_host:
        spec["rules"] = [
            {**({"host": host} if host else {}), "http": {"paths": paths}} for host, paths in by_host.items()
        ]
    if tls:
        spec["tls"] = [
            {**({"secretName": secret} if secret else {}), **({"hosts": hosts} if hosts else {})}
            for secret, hosts in tls.items()
        ]
    annotations = pairs(notes, "--annotation")

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        obj = named(dialect("networking.{abbr}.io/v1"), "Ingress", name, spec=spec)
        if annotations:
            obj["metadata"]["annotations"] = annotations
        return [obj]

    create_made(session, make, dry_run=dry_run, form=form)
