"""``auth``, ``certificate``, ``token``, ``certs``: the current user, permissions and credentials."""

from __future__ import annotations

from typing import Any

import click

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import DURATION, Group, everywhere_option, files_option
from orchd.ctl.discovery import Resource, UnknownTypeError
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import read_objects
from orchd.ctl.printers import printer
from orchd.ctl.reports import report
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_AUTHORIZATION = "authorization.{abbr}.io"
_AUTHENTICATION = "authentication.{abbr}.io"


@click.group(cls=Group)
def auth() -> None:
    """Show the current user and its permissions."""


@auth.command("can-i")
@click.argument("words", nargs=-1, metavar="VERB TYPE[/NAME] | VERB /PATH")
@click.option("--subresource", default="", help="A subresource such as log or scale.")
@everywhere_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; the exit status is the result.")
@click.option("--list", "list_", is_flag=True, help="List all permissions in the namespace.")
@click.option("--no-headers", is_flag=True, help="With --list: omit the column headings.")
@pass_session
def can_i(
    session: Session, words: tuple[str, ...], subresource: str, everywhere: bool, quiet: bool, list_: bool, no_headers: bool
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
        answer = await api.review(_AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", spec)
        status: Object = answer.get("status") or {}
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
            click.echo(f"Warning: {error}", err=True)
            plural, _, group = type_.partition(".")
    attributes = {
        "verb": verb, "group": group, "resource": plural, "name": name, "subresource": subresource,
        "namespace": api.namespace if namespaced and not everywhere else "",
    }  # fmt: skip
    return {"resourceAttributes": {key: value for key, value in attributes.items() if value}}


async def _list_rules(api: Api, *, headings: bool) -> None:
    spec = {"namespace": api.namespace}
    answer = await api.review(_AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", spec)
    status = answer.get("status") or {}
    rows = []
    for rule in status.get("resourceRules") or ():
        for group in rule.get("apiGroups") or ("",):
            for resource in rule.get("resources") or ():
                name = f"{resource}.{group}" if group else resource
                rows.append([name, "[]", _listed(rule.get("resourceNames")), _listed(rule.get("verbs"))])
    for rule in status.get("nonResourceRules") or ():
        rows.append(["", _listed(rule.get("nonResourceURLs")), "[]", _listed(rule.get("verbs"))])
    output.Columns(["resources", "non-resource urls", "resource names", "verbs"], show_headings=headings).write(sorted(rows))
    if status.get("incomplete"):
        click.echo(f"Warning: the list may be incomplete: {status.get('evaluationError', '')}", err=True)


def _listed(values: Any) -> str:
    return "[" + " ".join(values or ()) + "]"


@auth.command()
@form_option
@pass_session
def whoami(session: Session, form: str) -> None:
    """Print the user as which the server authenticates the request."""

    async def work(api: Api) -> Object:
        # Not looked up in discovery: servers of release 1.23 list it for newer clients only.
        for version in ("v1", "v1beta1", "v1alpha1"):
            try:
                return await api.review(_AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", {}, version=version)
            except ApiError as error:
                if error.code != 404:
                    raise
        raise CommandError("the server has no SelfSubjectReview: config view shows the user, auth can-i tests permissions")

    answer = session.run(work)
    if form:
        printer(form, label=lambda obj: "selfsubjectreview")([answer], True)
        return
    user = (answer.get("status") or {}).get("userInfo") or {}
    rows = [["Username", str(user.get("username", ""))]]
    if user.get("uid"):
        rows.append(["UID", str(user["uid"])])
    rows.append(["Groups", _listed(user.get("groups"))])
    rows += [[f"Extra: {key}", _listed(values)] for key, values in sorted((user.get("extra") or {}).items())]
    output.Columns(["attribute", "value"]).write(rows)


# -- certificate signing requests


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
    def command(session: Session, names: tuple[str, ...], files: tuple[str, ...], recursive: bool, force: bool, form: str) -> None:
        if bool(names) == bool(files):
            raise CommandError("name requests, or give files with -f")

        async def work(api: Api) -> None:
            dialect = await api.dialect()
            resource = await api.discovery.find(f"certificatesigningrequests.{dialect('certificates.{abbr}.io')}")
            chosen = [each.rpartition("/")[2] for each in names]
            if files:
                chosen = [str(obj["metadata"].get("name", "")) for obj in read_objects(session, files, recursive=recursive)]
            failures = Failures()
            for each in chosen:
                with failures.collect():
                    report(Target(resource, each), await _decide(api, resource, each, type_, word, force), word, form=form, dry_run="none")
            failures.raise_collected()

        session.run(work)


async def _decide(api: Api, resource: Resource, name: str, type_: str, word: str, force: bool) -> Object:
    request = await api.get(resource, name)
    conditions = list((request.get("status") or {}).get("conditions") or ())
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
    body = {**request, "status": {**(request.get("status") or {}), "conditions": conditions}}
    done: Object = await api.call(Call(method="PUT", path=paths.item(resource.ref, "", name, "approval"), body=body))
    return done


_verdict("approve", "Approved", "approved", "Approve requests: the signer issues their certificates.")
_verdict("deny", "Denied", "denied", "Deny requests: no certificate is issued.")


# -- tokens of service accounts


@click.group(cls=Group)
def token() -> None:
    """Tokens of service accounts."""


@token.command("create")
@click.argument("account", metavar="SERVICEACCOUNT")
@click.option("--duration", type=DURATION, help="Lifetime such as 10m; the server may issue a different one.")
@click.option("--audience", "audiences", multiple=True, help="Audience of the token; may be repeated. Default: the server.")
@click.option("--bound-object-kind", type=click.Choice(["Pod", "Secret"]), help="Bind it to an object of this kind.")
@click.option("--bound-object-name", default="", help="The name of that object.")
@click.option("--bound-object-uid", default="", help="The uid of that object; default: its current one.")
@form_option
@pass_session
def create_token(
    session: Session, account: str, duration: float | None, audiences: tuple[str, ...], bound_object_kind: str | None,
    bound_object_name: str, bound_object_uid: str, form: str,
) -> None:
    """Print a new token of a service account."""  # fmt: skip
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
        group = (await api.dialect())(_AUTHENTICATION)
        resource = await api.discovery.find("serviceaccounts")
        body = {"apiVersion": f"{group}/v1", "kind": "TokenRequest", "spec": spec}
        answer = await api.create(resource, body, path=f"/{account}/token")
        if form:
            printer(form, label=lambda obj: f"token/{account}")([answer], True)
        else:
            output.line(answer["status"]["token"])

    session.run(work)

