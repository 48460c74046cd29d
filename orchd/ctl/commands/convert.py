"""``convert``: objects of files in another version, without a server."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import files_option
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.printing.forms import form_options
from orchd.ctl.printing.printers import printer
from orchd.dialect import DIALECTS
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, builtin_catalog, split_group_version
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.convert import convert as convert_object
from orchd.kinds.objects.shape import canonical


@click.command(cls=Command)
@files_option
@click.option("--output-version", default="", metavar="GROUP/VERSION", help="Version to convert to; default: the preferred one.")
@form_options("yaml")
@pass_session
def convert(session: Session, files: tuple[str, ...], recursive: bool, output_version: str, form: str) -> None:
    """Convert objects in files to another version of their group, without a server."""
    catalogs = [builtin_catalog(dialect, enabled=lambda group, version, default: True) for dialect in DIALECTS.values()]
    objects = read_objects(session, files, recursive=recursive)
    done = [convert_one(catalogs, obj, output_version) for obj in objects]
    printer(form, label=lambda obj: f"{obj['kind'].lower()}/{obj['metadata'].get('name', '')}")(done, True)


def convert_one(catalogs: list[Catalog], obj: Object, version: str) -> Object:
    """An object in `version` (with or without its group). Raises CommandError."""
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    for catalog in catalogs:
        resource = catalog.kind(api_version, kind)
        if resource is None:
            continue
        group = catalog.group(resource.group)
        assert group is not None, "it has the resource"
        target = version or (f"{group.name}/{group.preferred}" if group.name else group.preferred)
        if "/" not in target and resource.group:
            target = f"{resource.group}/{target}"
        to = catalog.kind(target, kind)
        if to is None:
            known = ", ".join(each.api_version for each in catalog.versions_of(resource))
            raise CommandError(f"{kind} has no version {target}: those that it has are {known}")
        if split_group_version(target)[0] != resource.group:
            raise CommandError(f"{kind} of {api_version} is not converted to another group ({target}): name a version of its own")
        try:
            return _trim(convert_object(canonical(obj, resource.type), target, catalog), obj)
        except (ApiError, KeyError, TypeError, ValueError) as error:
            raise CommandError(f"{kind} {obj['metadata'].get('name', '')}: cannot be converted: {error}") from None
    raise CommandError(f"{kind} of {api_version} is no built-in kind: the server converts custom kinds (get with TYPE.VERSION.GROUP)")


def _trim(done: Object, given: Object) -> Object:
    """Without what the canonical shape adds and the file did not say: a status, a time of creation."""
    out = {key: value for key, value in done.items() if key != "status" or "status" in given}
    metadata = {key: value for key, value in done["metadata"].items() if value is not None or key in given["metadata"]}
    return {**out, "metadata": metadata}
