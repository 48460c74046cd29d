"""``certificate``: approves and denies certificate signing requests."""

from __future__ import annotations

import click

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import files_option
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds import fields
from orchd.kinds.fields import status
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group)
def certificate() -> None:
    """Approve or deny certificate signing requests."""


def _verdict(name: str, type_: str, word: str, text: str) -> None:
    @certificate.command(name, help=text)
    @click.argument("names", nargs=-1, metavar="NAME...")
    @click.option("--force", is_flag=True, help="Set the condition again if the request already has it.")
    @files_option
    @form_option
    @pass_session
    def command(
        session: Session, names: tuple[str, ...], files: tuple[str, ...], recursive: bool, force: bool, form: str
    ) -> None:
        if bool(names) == bool(files):
            raise CommandError("name requests, or give files with -f")

        async def work(api: Api) -> None:
            dialect = await api.dialect()
            resource = await api.discovery.find(f"certificatesigningrequests.{dialect('certificates.{abbr}.io')}")
            chosen = [each.rpartition("/")[2] for each in names]
            if files:
                chosen = [
                    str(obj["metadata"].get("name", "")) for obj in read_objects(session, files, recursive=recursive)
                ]
            failures = Failures()
            for each in chosen:
                with failures.collect():
                    report(
                        Target(resource, each),
                        await _decide(api, resource, each, type_, word, force),
                        word,
                        form=form,
                        dry_run="none",
                    )
            failures.raise_collected()

        session.run(work)


async def _decide(api: Api, resource: Resource, name: str, type_: str, word: str, force: bool) -> Object:
    request = await api.get(resource, name)
    conditions = list(fields.conditions(request))
    if any(each.get("type") == type_ for each in conditions):
        if not force:
            return request
        conditions = [each for each in conditions if each.get("type") != type_]
    other = {"Approved": "Denied", "Denied": "Approved"}[type_]
    if any(each.get("type") == other for each in conditions):
        raise CommandError(f"{name} is {other.lower()} already: create another request")
    conditions.append(
        {"type": type_, "status": "True", "reason": f"Ctl{type_}", "message": f"{word} on the command line"}
    )
    body = {**request, "status": {**status(request), "conditions": conditions}}
    done: Object = await api.call(Call(method="PUT", path=paths.item(resource.ref, "", name, "approval"), body=body))
    return done


_verdict("approve", "Approved", "approved", "Approve requests: the signer issues their certificates.")
_verdict("deny", "Denied", "denied", "Deny requests: no certificate is issued.")
