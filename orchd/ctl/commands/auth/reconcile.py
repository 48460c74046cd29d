"""``auth reconcile``: creates and extends roles and bindings so that they grant what the files grant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import dry_query, dry_run_option, field_manager_option, files_option
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.replacement import put
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import Target, check_namespace, target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import breakdown, uncovered

_ROLES, _BINDINGS = ("Role", "ClusterRole"), ("RoleBinding", "ClusterRoleBinding")


@dataclass(slots=True)
class Outcome:
    """Result of reconciling one object: the object, the operation ("" for none) and lines of details for the user."""

    obj: Object
    operation: str = ""
    details: list[str] = field(default_factory=list)


@click.command("reconcile", cls=Command)
@files_option
@click.option(
    "--remove-extra-permissions", "fewer_rules", is_flag=True, help="Remove rules that the file does not have."
)
@click.option(
    "--remove-extra-subjects", "fewer_subjects", is_flag=True, help="Remove subjects that the file does not have."
)
@dry_run_option
@field_manager_option
@form_option
@pass_session
def reconcile(
    session: Session,
    files: tuple[str, ...],
    recursive: bool,
    fewer_rules: bool,
    fewer_subjects: bool,
    dry_run: str,
    form: str,
) -> None:
    """Create or update roles and bindings from files: missing rules and subjects are added. A binding of another role
    is deleted and created again."""
    objects = read_objects(session, files, recursive=recursive)

    async def work(api: Api) -> None:
        group = (await api.dialect())("rbac.authorization.{abbr}.io")
        failures = Failures()
        for obj in objects:
            kind = str(obj["kind"])
            if obj["apiVersion"] != f"{group}/v1" or kind not in (*_ROLES, *_BINDINGS):
                api.warn(
                    f"{obj['apiVersion']} {kind} is left out: only roles and bindings of {group}/v1 are reconciled"
                )
                continue
            with failures.collect():
                target = await target_of(api, obj)
                check_namespace(session, target)
                if not target.name:
                    raise CommandError(f"{target.resource.kind}: reconcile needs metadata.name")
                outcome = await _reconcile(
                    api, target, obj, dry_run, fewer_rules=fewer_rules, fewer_subjects=fewer_subjects
                )
                report(target, outcome.obj, "reconciled", form=form, dry_run=dry_run)
                if outcome.operation and not form:
                    for line in (f"\treconciliation required {outcome.operation}", *outcome.details):
                        output.note(line)
        failures.raise_collected()

    session.run(work)


async def _reconcile(
    api: Api, target: Target, declared: Object, dry_run: str, *, fewer_rules: bool, fewer_subjects: bool
) -> Outcome:
    query = dry_query(dry_run)
    try:
        present = await api.get(target.resource, target.name, target.namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        await _create_namespace(api, target, dry_run)
        key, title = (
            ("rules", "missing rules added")
            if target.resource.kind in _ROLES
            else ("subjects", "missing subjects added")
        )
        outcome = Outcome(declared, "create", _listed(title, declared.get(key) or []))
        if dry_run != "client":
            outcome.obj = await api.create(target.resource, declared, namespace=target.namespace, query=query)
        return outcome
    if target.resource.kind in _ROLES:
        outcome = reconcile_role(present, declared, remove_extra=fewer_rules)
    else:
        outcome = reconcile_binding(present, declared, remove_extra=fewer_subjects)
    if dry_run == "client" or not outcome.operation:
        return outcome
    if outcome.operation == "recreate":
        uid = {"preconditions": {"uid": present["metadata"]["uid"]}}
        await api.delete(target.resource, target.name, target.namespace, uid, query)
        if dry_run == "none":
            outcome.obj = await api.create(target.resource, outcome.obj, namespace=target.namespace, query=query)
        return outcome
    outcome.obj = await put(api, target, outcome.obj, query=query)
    return outcome


async def _create_namespace(api: Api, target: Target, dry_run: str) -> None:
    """Create the namespace of a new object if it does not exist."""
    name = api.scope(target.resource, target.namespace)
    if not name or dry_run != "none":
        return
    namespaces = await api.discovery.find("namespaces")
    try:
        await api.get(namespaces, name)
    except ApiError as error:
        if error.code != 404:
            return
        await api.create(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _listed(title: str, members: list[Any]) -> list[str]:
    return [f"\t{title}:", *(f"\t\t{_text(each)}" for each in members)] if members else []


def _text(member: Object) -> str:
    """A rule or subject on one line."""
    return " ".join(f"{key}={','.join(value) if isinstance(value, list) else value}" for key, value in member.items())


def _with_metadata(present: Object, declared: Object) -> tuple[Object, bool]:
    """`present` with the labels and annotations of `declared`; True if that changes it."""
    metadata = dict(present["metadata"])
    for key in ("labels", "annotations"):
        joined = {**(metadata.get(key) or {}), **(declared["metadata"].get(key) or {})}
        if joined != (metadata.get(key) or {}):
            metadata[key] = joined
    return {**present, "metadata": metadata}, metadata != present["metadata"]


def reconcile_role(present: Object, declared: Object, *, remove_extra: bool) -> Outcome:
    """`present` with the permissions of `declared` added, and with `remove_extra` without others."""
    out, changed = _with_metadata(present, declared)
    if declared.get("aggregationRule") is not None:
        # The rules of an aggregated role come from the roles that it selects.
        selectors = (present.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        needed = declared["aggregationRule"].get("clusterRoleSelectors") or []
        missing = [each for each in needed if each not in selectors]
        extra = [each for each in selectors if each not in needed] if remove_extra else []
        if missing or extra or present.get("aggregationRule") is None:
            kept = [each for each in selectors if each not in extra]
            out["aggregationRule"] = {"clusterRoleSelectors": [*kept, *missing]}
            details = _listed("missing aggregation rule selectors added", missing) + _listed(
                "extra aggregation rule selectors removed", extra
            )
            return Outcome(out, "update", details)
        return Outcome(out, "update" if changed else "")
    before, after = present.get("rules") or [], declared.get("rules") or []
    missing, extra = missing_rules(before, after), missing_rules(after, before) if remove_extra else []
    if missing or extra:
        out["rules"] = after if remove_extra else [*before, *missing]
    operation = "update" if missing or extra or changed else ""
    return Outcome(out, operation, _listed("missing rules added", missing) + _listed("extra rules removed", extra))


def reconcile_binding(present: Object, declared: Object, *, remove_extra: bool) -> Outcome:
    """`present` with the subjects of `declared` added, and with `remove_extra` without others. A different role needs a
    new binding."""
    if {**_group_of(declared), **declared["roleRef"]} != {**_group_of(declared), **present["roleRef"]}:
        return Outcome(
            declared,
            "recreate",
            [f"\troleRef changed from {present['roleRef']['name']} to {declared['roleRef']['name']}"],
        )
    out, changed = _with_metadata(present, declared)
    group = _group_of(declared)["apiGroup"]
    before, after = present.get("subjects") or [], declared.get("subjects") or []
    missing = _without(after, before, group)
    extra = _without(before, after, group) if remove_extra else []
    if missing or extra:
        out["subjects"] = [*(each for each in before if each not in extra), *missing]
    operation = "update" if missing or extra or changed else ""
    return Outcome(
        out, operation, _listed("missing subjects added", missing) + _listed("extra subjects removed", extra)
    )


def _group_of(binding: Object) -> Object:
    return {"apiGroup": str(binding["apiVersion"]).partition("/")[0]}


def _without(members: list[Object], others: list[Object], group: str) -> list[Object]:
    """The subjects that are not among `others`."""

    def identity(subject: Object) -> tuple[Any, ...]:
        default = "" if subject["kind"] == "ServiceAccount" else group
        return subject.get("apiGroup") or default, subject["kind"], subject.get("namespace", ""), subject["name"]

    identities = set(map(identity, others))
    return [each for each in members if identity(each) not in identities]


def missing_rules(granted: list[Object], needed: list[Object]) -> list[Object]:
    """The permissions of `needed` that `granted` lacks: a rule that is missing as a whole is kept whole."""
    out: list[Object] = []
    for rule in needed:
        missing = uncovered(granted, [rule])
        out += [rule] if missing and len(missing) == len(breakdown(rule)) else missing
    return out
