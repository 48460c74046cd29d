"""``token``: tokens of service accounts."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.ctl.printing.printers import printer
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group)
def token() -> None:
    """Tokens of service accounts."""


@token.command("create")
@click.argument("account", metavar="SERVICEACCOUNT")
@click.option("--duration", type=DURATION, help="Lifetime such as 10m; the server may issue a different one.")
@click.option(
    "--audience", "audiences", multiple=True, help="Audience of the token; may be repeated. Default: the server."
)
@click.option("--bound-object-kind", type=click.Choice(["Pod", "Secret"]), help="Bind it to an object of this kind.")
@click.option("--bound-object-name", default="", help="The name of that object.")
@click.option("--bound-object-uid", default="", help="The uid of that object; default: its current one.")
@form_option
@pass_session
def create_token(
    session: Session,
    account: str,
    duration: float | None,
    audiences: tuple[str, ...],
    bound_object_kind: str | None,
    bound_object_name: str,
    bound_object_uid: str,
    form: str,
) -> None:
    """Print a new token of a service account."""
    if bool(bound_object_kind) != bool(bound_object_name):
        raise CommandError("--bound-object-kind and --bound-object-name go together: give both")
    if bound_object_uid and not bound_object_kind:
        raise CommandError("--bound-object-uid needs --bound-object-kind and --bound-object-name: give them too")
    if duration is not None and duration < 0:
        raise CommandError("--duration must not be negative: omit it for the default")
    spec: Object = {}
    if duration:
        spec["expirationSeconds"] = int(duration)
    if audiences:
        spec["audiences"] = list(audiences)
    if bound_object_kind:
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": bound_object_kind, "name": bound_object_name}
        if bound_object_uid:
            spec["boundObjectRef"]["uid"] = bound_object_uid

    async def work(api: Api) -> None:
        group = (await api.dialect())("authentication.{abbr}.io")
        resource = await api.discovery.find("serviceaccounts")
        body = {"apiVersion": f"{group}/v1", "kind": "TokenRequest", "spec": spec}
        response = await api.create(resource, body, path=f"/{account}/token")
        if form:
            printer(form, label=lambda obj: f"token/{account}")([response], True)
        else:
            output.line(response["status"]["token"])

    session.run(work)
