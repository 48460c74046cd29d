"""Flags that several commands share, and what they say to the server."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

import click

from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.dialect import COMMAND_LINE

F = TypeVar("F", bound=Callable[..., Any])


def seconds(text: str) -> float:
    """A duration such as ``30``, ``30s``, ``1m30s``, ``2h`` in seconds. Raises CommandError."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        return sign * float(rest)
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|[smhd]))+", rest):
        raise CommandError(f"{text!r} is not a duration: write it as 30s, 5m or 1h30m")
    return sign * sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|[smhd])", rest))


class Duration(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return seconds(str(value))


DURATION = Duration()


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help text."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


selector_options: Callable[[F], F] = stacked(
    click.option("-l", "--selector", default="", metavar="SELECTOR", help="Label selector: a=b,c!=d,e in (f,g),!h."),
    click.option("--field-selector", default="", metavar="SELECTOR", help="Field selector: metadata.name=a."),
)
everywhere_option: Callable[[F], F] = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="Select objects of all namespaces."
)


class Kustomization(str):
    """The folder or URL of a kustomization among the files of a command."""

    __slots__ = ()


def put_files(parameters: MutableMapping[str, Any]) -> None:
    """Put the kustomization of -k in the place of the files. Raises CommandError if there are files as well."""
    if folder := parameters.pop("kustomization", ""):
        if parameters["files"]:
            raise CommandError("-f and -k cannot be used together: leave out one of them")
        parameters["files"] = (Kustomization(folder),)


files_option: Callable[[F], F] = stacked(
    click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        metavar="FILE",
        help="File, folder or URL with objects; - is standard input.",
    ),
    click.option(
        "-k",
        "--kustomize",
        "kustomization",
        default="",
        metavar="DIR",
        help="Objects that kustomize builds from a folder or URL.",
    ),
    click.option("-R", "--recursive", is_flag=True, help="Include subfolders."),
)
dry_run_option: Callable[[F], F] = click.option(
    "--dry-run", type=click.Choice(["none", "server", "client"]), default="none", show_default=True, is_flag=False,
    flag_value="server", help="Check without storing: by the server, or locally without a request.",
)  # fmt: skip


def _remember_writing(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    session = context.find_object(Session)
    if session is not None and parameter.name and value:
        setattr(session.writing, parameter.name, value)


field_manager_option: Callable[[F], F] = click.option(
    "--field-manager", "manager", default=COMMAND_LINE, show_default=True, expose_value=False,
    callback=_remember_writing, help="Name under which fields are owned.",
)  # fmt: skip
save_config_option: Callable[[F], F] = click.option(
    "--save-config", is_flag=True, expose_value=False, callback=_remember_writing,
    help="Store the object in the annotation that apply view-last-applied prints.",
)  # fmt: skip
write_options: Callable[[F], F] = stacked(dry_run_option, field_manager_option)


def dry_query(dry_run: str) -> dict[str, str]:
    """The query of a write with that flag."""
    return {"dryRun": "All"} if dry_run == "server" else {}


def done_suffix(dry_run: str) -> str:
    """The suffix of messages about a dry run."""
    return {"server": " (server dry run)", "client": " (dry run)"}.get(dry_run, "")


#: Value of --validate -> value of the query parameter.
_VALIDATION = {"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}
validate_option: Callable[[F], F] = click.option(
    "--validate", "validation", type=click.Choice(list(_VALIDATION)), default="strict", show_default=True,
    is_flag=False, flag_value="strict", expose_value=False, callback=_remember_writing,
    help="Unknown fields are rejected (strict), cause warnings (warn) or are dropped (ignore).",
)  # fmt: skip


def validation_query(session: Session) -> dict[str, str]:
    """The query of a write with that flag."""
    word = session.writing.validation
    return {"fieldValidation": _VALIDATION[word]} if word else {}


def key_values(text: str, flag: str) -> dict[str, str]:
    out = {}
    for part in filter(None, text.split(",")):
        key, mark, value = part.partition("=")
        if not mark or not key:
            raise CommandError(f"{flag}={text}: write {flag}=KEY=VALUE,KEY=VALUE")
        out[key] = value
    return out
