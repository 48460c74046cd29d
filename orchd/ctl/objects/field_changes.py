"""Changes of single fields of the chosen objects, by the commands of ``set``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine
from typing import Any

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import Failures
from orchd.ctl.flags import F, stacked, write_options
from orchd.ctl.objects.pod_templates import Edit, change
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection, local_option, selection_options
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option

set_options: Callable[[F], F] = stacked(selection_options, local_option, write_options, form_option)


def change_selected(
    session: Session,
    words: list[str],
    flags: dict[str, Any],
    edit: Callable[[Target], Edit],
    word: str,
    prepare: Callable[[Api], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Change the chosen objects by `edit`; `prepare` is awaited before, and asks the server for what `edit` needs."""
    selection, form, dry_run = Selection.take(flags), flags["form"], flags["dry_run"]
    if flags["local"]:
        if prepare is not None:
            session.run(prepare)
        for target, obj in selection.local(session, words):
            done = copy.deepcopy(obj)
            edit(target)(done)
            if done != obj or form:
                report(target, done, f"{word} updated", form=form, dry_run="none")
        return

    async def work(api: Api) -> None:
        failures = Failures()
        if prepare is not None:
            await prepare(api)
        for target in await selection.targets(api, session, words):
            with failures.collect():
                done, changed = await change(api, target, edit(target), dry_run=dry_run)
                if changed or form:
                    report(target, done, f"{word} updated", form=form, dry_run=dry_run)
        failures.raise_collected()

    session.run(work)


def split_pairs(words: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Words for objects, and NAME=VALUE words."""
    objects = [word for word in words if "=" not in word]
    return objects, dict(word.split("=", 1) for word in words if "=" in word)
