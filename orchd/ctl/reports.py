"""What a command that writes says of each object."""

from __future__ import annotations

from orchd.ctl import output
from orchd.ctl.command import done_suffix
from orchd.ctl.printers import printer
from orchd.ctl.targets import Target
from orchd.kinds.jsonvalues import Object


def report(target: Target, obj: Object, done: str, *, form: str, dry_run: str) -> None:
    """Say what was done, or print the object in the form that was asked for."""
    if form:
        printer(form)([obj], True)
    else:
        name = target.name or str(obj["metadata"].get("name", ""))
        output.line(f"{target.resource.label(name)} {done}{done_suffix(dry_run)}")
