"""Messages of writing commands about each object."""

from __future__ import annotations

from orchd.ctl.flags import done_suffix
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.ctl.printing.printers import printer
from orchd.kinds.jsonvalues import Object


def report(target: Target, obj: Object, done: str, *, form: str, dry_run: str) -> None:
    """Print what was done, or the object in the requested format."""
    if form:
        printer(form)([obj], True)
    else:
        name = target.name or str(obj["metadata"].get("name", ""))
        output.line(f"{_label(target, obj, name)} {done}{done_suffix(dry_run)}")


def _label(target: Target, obj: Object, name: str) -> str:
    """The label of an object; that of a subresource with a kind of its own names this kind:
    ``scale.autoscaling/web``."""
    kind = obj.get("kind") or target.resource.kind
    if kind == target.resource.kind:
        return target.resource.label(name)
    group, slash, _ = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{kind.lower()}.{group}/{name}" if slash else f"{kind.lower()}/{name}"
