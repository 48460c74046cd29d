"""``auth can-i``: permissions of the current user."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import UnknownTypeError
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import everywhere_option
from orchd.ctl.objects.rules import compact_rules, resource_text
from orchd.ctl.printing import output
from orchd.ctl.printing.output import bracketed
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

_GROUP = "authorization.{abbr}.io"


@click.command("can-i", cls=Command)
@click.argument("words", nargs=-1, metavar="VERB TYPE[/NAME] | VERB /PATH")
@click.option("--subresource", default="", help="A subresource such as log or scale.")
@everywhere_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status is the result.")
@click.option("--list", "list_", is_flag=True, help="List all permissions in the namespace.")
@click.option("--no-headers", is_flag=True, help="With --list: omit the column headings.")
@pass_session
def can_i(
    session: Session,
    words: tuple[str, ...],
    subresource: str,
    everywhere: bool,
    quiet: bool,
    list_: bool,
    no_headers: bool,
) -> None:
    """Print yes or no; exit status 1 for no."""
    if list_:
        if words:
            raise CommandError("--list takes no verb and type: leave them out")
        session.run(lambda api: _list_rules(api, headings=not no_headers))
        return
    if len(words) not in (2, 3):
        raise CommandError("write can-i VERB TYPE, VERB TYPE NAME, VERB TYPE/NAME or VERB /PATH")

    async def work(api: Api) -> Object:
        spec = await _question(api, words, subresource, everywhere)
        response = await api.review(_GROUP, "SelfSubjectAccessReview", "selfsubjectaccessreviews", spec)
        status: Object = fields.status(response)
        return status

    status = session.run(work)
    if not quiet:
        reason = f" - {status['reason']}" if status.get("reason") and not status.get("allowed") else ""
        output.line("yes" if status.get("allowed") else f"no{reason}")
    if not status.get("allowed"):
        raise click.exceptions.Exit(1)


async def _question(api: Api, words: tuple[str, ...], subresource: str, everywhere: bool) -> Object:
    verb, target = words[0], words[1]
    if target.startswith("/"):
        return {"nonResourceAttributes": {"verb": verb, "path": target}}
    type_, _, name = target.partition("/")
    name = name or (words[2] if len(words) == 3 else "")
    group, plural, namespaced = "*", type_, True
    if type_ != "*":
        try:
            resource = await api.discovery.find(type_)
            group, plural, namespaced = resource.group, resource.plural, resource.namespaced
        except UnknownTypeError as error:
            output.note(f"Warning: {error}")
            plural, _, group = type_.partition(".")
    attributes = {
        "verb": verb, "group": group, "resource": plural, "name": name, "subresource": subresource,
        "namespace": api.namespace if namespaced and not everywhere else "",
    }  # fmt: skip
    return {"resourceAttributes": {key: value for key, value in attributes.items() if value}}


async def _list_rules(api: Api, *, headings: bool) -> None:
    spec = {"namespace": api.namespace}
    response = await api.review(_GROUP, "SelfSubjectRulesReview", "selfsubjectrulesreviews", spec)
    status = fields.status(response)
    rules = compact_rules([*(status.get("resourceRules") or ()), *(status.get("nonResourceRules") or ())])
    titles = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")
    output.Columns(titles, show_headings=headings, as_given=True).write(
        [
            [resource_text(each), *(bracketed(each.get(key)) for key in ("nonResourceURLs", "resourceNames", "verbs"))]
            for each in rules
        ]
    )
    if status.get("incomplete"):
        output.note(f"Warning: the list may be incomplete: {status.get('evaluationError', '')}")
