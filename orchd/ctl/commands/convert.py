"""``convert``: objects of files in another version, without a server."""

from __future__ import annotations

from collections.abc import Mapping

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.conversions.table import upgrade
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import files_option
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.printing.forms import form_options
from orchd.ctl.printing.printers import printer
from orchd.dialect import DIALECTS, STOCK_META_GROUP, Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.convert import convert as convert_object
from orchd.kinds.objects.shape import canonical


@click.command(cls=Command)
@files_option
@click.option(
    "--output-version", default="", metavar="GROUP/VERSION", help="Version to convert to; default: the preferred one."
)
@form_options("yaml")
@pass_session
def convert(session: Session, files: tuple[str, ...], recursive: bool, output_version: str, form: str) -> None:
    """Convert objects in files to another version, without a server. Objects of versions that servers no longer have
    become those of the version that took their place, with the defaults that they had."""
    catalogs = {
        dialect: builtin_catalog(dialect, enabled=lambda group, version, default: True) for dialect in DIALECTS.values()
    }
    objects = read_objects(session, files, recursive=recursive)
    done = [convert_one(catalogs, obj, output_version) for obj in objects]
    printer(form, label=lambda obj: f"{obj['kind'].lower()}/{obj['metadata'].get('name', '')}")(done, True)


def convert_one(catalogs: Mapping[Dialect, Catalog], obj: Object, version: str) -> Object:
    """An object in `version` (with or without its group). Raises CommandError."""
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    order = _order(catalogs, obj, version)
    try:
        upgraded = upgrade(obj, order)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandError(
            f"{kind} {obj['metadata'].get('name', '')}: cannot be converted from {api_version}: {_why(error)}"
        ) from None
    if upgraded is not None:
        obj, *order = upgraded
    for catalog in map(catalogs.__getitem__, order):
        resource = catalog.kind(str(obj["apiVersion"]), kind)
        if resource is None:
            continue
        target = version or _preferred(catalog, resource)
        if "/" not in target and resource.group:
            target = f"{resource.group}/{target}"
        to = catalog.kind(target, kind)
        if to is None:
            others = ", ".join(each.api_version for each in catalog.versions_of(resource))
            raise CommandError(f"{kind} has no version {target}: those that it has are {others}")
        if split_group_version(target)[0] != resource.group:
            raise CommandError(
                f"{kind} of {api_version} is not converted to another group ({target}): name a version of its own"
            )
        try:
            return _trim(convert_object(canonical(obj, resource.type), target, catalog), obj)
        except (ApiError, KeyError, TypeError, ValueError) as error:
            raise CommandError(
                f"{kind} {obj['metadata'].get('name', '')}: cannot be converted: {_why(error)}"
            ) from None
    raise CommandError(
        f"{kind} of {api_version} is no built-in kind: the server converts custom kinds (get with TYPE.VERSION.GROUP)"
    )


def _why(error: Exception) -> str:
    """The reason of a failed conversion: what conversions need is missing, or of another type."""
    if isinstance(error, KeyError):
        return f"field {error.args[0]!r} is missing"
    return str(error)


def _order(catalogs: Mapping[Dialect, Catalog], obj: Object, version: str) -> list[Dialect]:
    """The dialects in which an object of a group without a name of either is looked for: the one that has the group of
    `version`, then one of the object's annotations, then that of stock clients."""
    group, notes = split_group_version(version)[0], " ".join(obj["metadata"].get("annotations") or ())
    return sorted(
        catalogs,
        key=lambda each: (
            catalogs[each].group(group) is None,
            each("{long}.io/") not in notes,
            each.meta_group != STOCK_META_GROUP,
        ),
    )


def _preferred(catalog: Catalog, resource: Resource) -> str:
    """The preferred version of a kind: that of its group, or the first that has it."""
    group = catalog.group(resource.group)
    assert group is not None, "it has the resource"
    versions = [each.api_version for each in catalog.versions_of(resource)]
    preferred = f"{group.name}/{group.preferred}" if group.name else group.preferred
    return preferred if preferred in versions else versions[0]


def _trim(done: Object, original: Object) -> Object:
    """Without what the canonical shape adds and the file did not say: a status, a time of creation."""
    out = {key: value for key, value in done.items() if key != "status" or "status" in original}
    metadata = {
        key: value for key, value in done["metadata"].items() if value is not None or key in original["metadata"]
    }
    return {**out, "metadata": metadata}
