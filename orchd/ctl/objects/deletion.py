"""Propagation of deletions to dependents, and the wait for the removal of an object."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.errors import ApiError

#: What happens to dependents, by the word for it.
POLICIES = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}


class _Cascade(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    name = "policy"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        word = {"true": "background", "false": "orphan"}.get(str(value), str(value))
        if word not in POLICIES:
            raise CommandError(f"--cascade={value}: one of {', '.join(POLICIES)}")
        if word != value:
            output.note(f"Warning: --cascade={value} is deprecated: write --cascade={word}")
        return word


CASCADE = _Cascade()
#: Seconds between looks at whether an object is gone, and how long is waited without --timeout.
_LOOK, _LONGEST = 0.5, 7 * 24 * 3600.0


async def wait_gone(api: Api, target: Target, uid: str, end: float) -> None:
    """Wait until the object with this uid is gone; "" is any uid. Raises CommandError after `end` of the clock."""
    while True:
        try:
            obj = await api.get(target.resource, target.name, target.namespace)
        except ApiError as error:
            if error.code == 404:
                return
            raise
        if uid and obj["metadata"].get("uid") != uid:
            return
        if api.clock.seconds() >= end:
            finalizers = ", ".join(obj["metadata"].get("finalizers") or ())
            why = f"its finalizers are {finalizers}" if finalizers else "see its deletionTimestamp with get -o yaml"
            raise CommandError(f"timed out: {target.label} is still there: {why}")
        await api.sleep(_LOOK)


def note_deleted(api: Api, target: Target, word: str = "deleted", suffix: str = "") -> None:
    """Say that an object was deleted, and where."""
    place = f" from {target.namespace or api.namespace} namespace" if target.resource.namespaced else ""
    output.line(f'{target.resource.name_in_messages} "{target.name}" {word}{place}{suffix}')
