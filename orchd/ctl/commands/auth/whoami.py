"""``auth whoami``: the current user."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.ctl.printing.output import bracketed
from orchd.ctl.printing.printers import printer
from orchd.errors import ApiError
from orchd.kinds.fields import mapping, status
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@form_option
@pass_session
def whoami(session: Session, form: str) -> None:
    """Print the user as which the server authenticates the request."""

    async def work(api: Api) -> Object:
        # Not looked up in discovery: servers of release 1.23 list it for newer clients only.
        for version in ("v1", "v1beta1", "v1alpha1"):
            try:
                return await api.review(
                    "authentication.{abbr}.io", "SelfSubjectReview", "selfsubjectreviews", None, version=version
                )
            except ApiError as error:
                if error.code != 404:
                    raise
        raise CommandError(
            "the server has no SelfSubjectReview: config view shows the user, auth can-i tests permissions"
        )

    response = session.run(work)
    if form:
        printer(form, label=lambda obj: "selfsubjectreview")([response], True)
        return
    user = mapping(status(response), "userInfo")
    rows = [["Username", str(user.get("username", ""))]]
    if user.get("uid"):
        rows.append(["UID", str(user["uid"])])
    rows.append(["Groups", bracketed(user.get("groups"))])
    rows += [[f"Extra: {key}", bracketed(values)] for key, values in sorted(mapping(user, "extra").items())]
    output.Columns(["attribute", "value"]).write(rows)
