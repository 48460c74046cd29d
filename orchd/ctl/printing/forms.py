"""``-o`` and the flags that say how objects are printed: `Form` is their value."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Final

import click

from orchd.ctl.errors import CommandError

#: Forms that take a template, by the names that are accepted for them.
_TEMPLATES: Final = {
    "jsonpath": "jsonpath", "jsonpath-as-json": "jsonpath-as-json", "jsonpath-file": "jsonpath-file",
    "go-template": "go-template",
    "template": "go-template", "go-template-file": "go-template-file", "templatefile": "go-template-file",
    "custom-columns": "custom-columns", "custom-columns-file": "custom-columns-file",
}  # fmt: skip
FORMS: Final = (
    "wide, yaml, kyaml, json, name, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, jsonpath-file=FILE, go-template=TEMPLATE,"
    " go-template-file=FILE, custom-columns=NAME:PATH,..., custom-columns-file=FILE"
)


class Form(str):
    """The value of ``-o`` with the template of ``--template`` in it: ``yaml``, ``jsonpath={.a}``, "" for none.

    `missing_is_error` is true if a key that a template names must be there, `managed` if metadata.managedFields is
    printed."""

    __slots__ = ("managed", "missing_is_error")
    missing_is_error: bool
    managed: bool

    def __new__(cls, text: str = "", *, missing_is_error: bool = False, managed: bool = False) -> Form:
        form = super().__new__(cls, text)
        form.missing_is_error = missing_is_error
        form.managed = managed
        return form


def form_options(
    default: str = "", *, text: str = f"Print the object in a form: one of {FORMS}."
) -> Callable[..., Any]:
    """The flags of a command that prints objects; the command gets a `Form` as ``form``."""
    options = (
        click.option("-o", "--output", "form", default=default, show_default=bool(default), metavar="FORM", help=text),
        click.option("--template", default="", metavar="TEMPLATE", help="Template for -o, or its file; without -o a Go "
            "template."),
        click.option(
            "--allow-missing-template-keys/--no-allow-missing-template-keys", "missing_keys", default=True,
            show_default=True, help="Allow missing keys in templates.",
        ),
        click.option("--show-managed-fields", "managed", is_flag=True, help="Keep metadata.managedFields in yaml and json."),
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


form_option = form_options()


def put_form(parameters: MutableMapping[str, Any]) -> None:
    """Replace the values of `form_options` by a `Form`. Does nothing for commands without these. Raises
    CommandError."""
    if "missing_keys" not in parameters:
        return
    form, template = str(parameters["form"] or ""), str(parameters.pop("template"))
    parameters["form"] = Form(
        _with_template(form, template),
        missing_is_error=not parameters.pop("missing_keys"),
        managed=parameters.pop("managed"),
    )


def _with_template(form: str, template: str) -> str:
    name, mark, argument = form.partition("=")
    if not name and template:
        name = "go-template"
    if name not in _TEMPLATES:
        return form
    if not (argument if mark else template):
        raise CommandError(f"-o {name} needs a template: write -o {name}=... or --template")
    return f"{_TEMPLATES[name]}={argument if mark else template}"
