"""Output formats of ``-o``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from orchd.ctl.errors import CommandError
from orchd.ctl.printing import kyaml, output
from orchd.ctl.printing.forms import FORMS, Form
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object, without_managed_fields

#: Prints objects. A list of one that was asked for by name is printed as the object itself.
Printer = Callable[[Sequence[Object], bool], None]

#: The forms that are texts of whole values.
TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "yaml": output.yaml_text,
    "kyaml": kyaml.encode,
    "json": output.json_text,
}


def label_of(obj: Object) -> str:
    """``TYPE.GROUP/NAME`` of an object, as ``-o name`` prints it."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    word = str(obj.get("kind", "")).lower()
    name = fields.metadata(obj).get("name", "")
    return f"{word}.{group}/{name}" if group else f"{word}/{name}"


def printer(form: str, *, label: Callable[[Object], str] = label_of, headings: bool = True) -> Printer:
    """The printer of an ``-o`` value other than a table. `label` gives ``KIND/NAME`` of an object. Raises
    CommandError."""
    name, _, argument = form.partition("=")
    if name.endswith("-file"):
        name, argument = name.removesuffix("-file"), _read(argument)
    options = form if isinstance(form, Form) else Form(form)
    shape = (lambda obj: obj) if options.managed else without_managed_fields
    if name in TEXTS:
        return lambda objects, single: write_text(_as_one(objects, single, shape), name)
    if name == "name":
        return lambda objects, single: output.lines(map(label, objects))
    if name == "jsonpath":
        return _jsonpath(argument, options)
    if name == "jsonpath-as-json":
        from orchd.ctl.printing import jsonpath

        path = jsonpath.compile_path(argument)
        return lambda objects, single: output.document(
            output.json_text(path.find(_as_one(objects, single, _whole))), "json"
        )
    if name == "go-template":
        return _go_template(argument, options)
    if name == "custom-columns":
        return _custom_columns(argument, headings)
    raise CommandError(f"-o {form}: no such form: use one of {FORMS}")


def text_of(value: Object, form: str) -> str:
    """A value in a form of `TEXTS`, with a newline at its end."""
    return TEXTS[form](value).rstrip("\n") + "\n"


def write_text(value: Object, form: str) -> None:
    """Print a value in a form of `TEXTS`."""
    output.document(text_of(value, form), "json" if form == "json" else "yaml")


def _whole(obj: Object) -> Object:
    return obj


def _jsonpath(text: str, form: Form) -> Printer:
    from orchd.ctl.printing import jsonpath

    template = jsonpath.Template.parse(text if "{" in text else "{" + text + "}")

    def write(objects: Sequence[Object], single: bool) -> None:
        output.text(template.render(_as_one(objects, single, _whole), missing_is_error=form.missing_is_error))

    return write


def _go_template(text: str, form: Form) -> Printer:
    # Slow to import, and rarely needed.
    from orchd.ctl.printing.gotemplate import template as templates
    from orchd.ctl.printing.gotemplate.syntax import TemplateError

    try:
        template = templates.Template.parse(text)
    except TemplateError as error:
        raise CommandError(f"go-template: {error}") from None

    def write(objects: Sequence[Object], single: bool) -> None:
        try:
            output.text(template.render(_as_one(objects, single, _whole), missing_is_error=form.missing_is_error))
        except TemplateError as error:
            raise CommandError(f"go-template: {error}") from None

    return write


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}: check the path") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8 text") from None


def _as_one(objects: Sequence[Object], single: bool, shape: Callable[[Object], Object]) -> Any:
    if single and len(objects) == 1:
        return shape(objects[0])
    return {
        "apiVersion": "v1",
        "items": [shape(obj) for obj in objects],
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }


def _custom_columns(text: str, headings: bool) -> Printer:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 2 and ":" not in lines[0]:  # the form of files: headings above paths
        text = ",".join(f"{name}:{path}" for name, path in zip(lines[0].split(), lines[1].split(), strict=False))
    from orchd.ctl.printing import jsonpath

    def joined(values: list[Any]) -> str:
        return ",".join(jsonpath.plain_text(value) for value in values) if values else "<none>"

    columns = []
    for part in text.split(","):
        name, mark, path = part.partition(":")
        if not mark or not path:
            raise CommandError(f"custom-columns: {part!r}: write NAME:PATH,NAME:PATH, such as NAME:.metadata.name")
        columns.append((name, jsonpath.compile_path(path)))

    def write(objects: Sequence[Object], single: bool) -> None:
        out = output.Columns([name for name, _ in columns], show_headings=headings, as_given=True)
        out.write([[joined(compiled.find(obj)) for _, compiled in columns] for obj in objects])

    return write
