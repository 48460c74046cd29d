"""``taint``: taints of nodes."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import dry_query, validate_option, write_options
from orchd.ctl.objects.nodes import find_nodes, node_selector_option
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds.jsonvalues import Object

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="node NODE... KEY[=VALUE]:EFFECT... KEY[:EFFECT]-...")
@node_selector_option
@click.option("--all", "every", is_flag=True, help="All nodes.")
@click.option("--overwrite", is_flag=True, help="Change the values of existing taints.")
@write_options
@validate_option
@form_option
@pass_session
def taint(
    session: Session, words: tuple[str, ...], selector: str, every: bool, overwrite: bool, dry_run: str, form: str
) -> None:
    """Add taints to nodes or, with - at the end, remove them."""
    names, changes = split_taints(words)
    if not changes:
        raise CommandError("name a taint: KEY=VALUE:EFFECT adds it and KEY:EFFECT- removes it")

    async def work(api: Api) -> None:
        if every and (names or selector):
            raise CommandError("--all goes without names and -l: leave out one")
        resource, nodes = await find_nodes(api, tuple(names), selector, every=every)
        for node in nodes:
            name = node["metadata"]["name"]
            taints = apply_taint_changes(name, node["spec"].get("taints") or [], changes, overwrite=overwrite)
            body = {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": taints or None},
            }
            if dry_run != "client":
                await api.patch(resource, name, body, query=dry_query(dry_run))
            done = {**node, "apiVersion": "v1", "kind": "Node", "spec": {**node["spec"], "taints": taints}}
            present = {(each["key"], each["effect"]) for each in node["spec"].get("taints") or ()}
            word = "untainted" if all(remove for _, remove in changes) else "tainted"
            if any(not remove and (each["key"], each["effect"]) in present for each, remove in changes):
                word = "modified"
            report(Target(resource, name), done, word, form=form, dry_run=dry_run)

    session.run(work)


def split_taints(words: tuple[str, ...]) -> tuple[list[str], list[tuple[Object, bool]]]:
    """Names of nodes, and (taint, True if it is to be removed) of each change. Raises CommandError."""
    names: list[str] = []
    changes: list[tuple[Object, bool]] = []
    typed = bool(words) and words[0] in ("node", "nodes", "no")
    for word in words[1:] if typed else words:
        remove = word.endswith("-") and len(word) > 1 and bool(names or changes or typed or ":" in word)
        text = word[:-1] if remove else word
        if not remove and ":" not in text:
            if "=" in text:
                raise CommandError(f"{word!r}: the effect is missing: write {word}:{_EFFECTS[0]}")
            names.append(word.rpartition("/")[2])
            continue
        pair, _, effect = text.partition(":")
        key, _, value = pair.partition("=")
        if effect not in _EFFECTS and not (remove and not effect):
            raise CommandError(f"{word!r}: the effect must be one of {', '.join(_EFFECTS)}")
        changes.append(({"key": key, **({"value": value} if value else {}), "effect": effect}, remove))
    return names, changes


def apply_taint_changes(
    node: str, taints: list[Object], changes: list[tuple[Object, bool]], *, overwrite: bool
) -> list[Object]:
    """The taints after the changes. Raises CommandError if a taint to remove is missing, or exists with another
    value."""
    for change, remove in changes:
        same = [each for each in taints if each["key"] == change["key"] and change["effect"] in ("", each["effect"])]
        if remove and not same:
            raise CommandError(f'taint "{change["key"]}" not found on node {node}')
        if not remove and same and not overwrite:
            raise CommandError(
                f"node {node} already has taint {change['key']}:{change['effect']}: --overwrite changes it"
            )
        taints = [each for each in taints if each not in same]
        if not remove:
            taints = [*taints, change]
    return taints
