"""Objects from files, folders and standard input: JSON or YAML, several documents, lists of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from orchd.ctl.cluster.session import Session, is_url
from orchd.ctl.errors import CommandError, explain_yaml_error
from orchd.ctl.flags import Kustomization
from orchd.kinds.codec import yaml_
from orchd.kinds.jsonvalues import Object

_SUFFIXES = (".yaml", ".yml", ".json")


def read_objects(session: Session, names: Iterable[str], *, recursive: bool = False) -> list[Object]:
    """All objects of all files, in order. Raises CommandError, also when there are none."""
    files = [file for name in names for file in _files(name, recursive)]
    if not files:
        raise CommandError("no objects: name a file, a folder or - with -f")
    objects = [obj for file in files for obj in parse_objects(_read(session, file), _source(file))]
    if not objects:
        raise CommandError(f"no objects in {', '.join(files)}")
    return objects


def read_raw_body(session: Session, files: tuple[str, ...], *, optional: bool = False) -> Any:
    """The value of the one file of ``--raw``, None without one if it is `optional`. Raises CommandError."""
    if len(files) != 1 and not (optional and not files):
        raise CommandError("--raw takes one file: name it with -f, or - for standard input")
    return parse_value(_read(session, files[0]), _source(files[0])) if files else None


def _read(session: Session, file: str) -> str:
    if not isinstance(file, Kustomization):
        return session.read(file)
    # Rarely needed.
    from orchd.ctl.objects.kustomizations import build

    return build(session, file)


def _source(file: str) -> str:
    """A file as messages name it."""
    return "standard input" if file == "-" else file


def select_by_labels(objects: list[Object], selector: str) -> list[Object]:
    """The objects whose labels a selector matches; all without one. Raises ApiError for an invalid selector, and
    CommandError when nothing is left."""
    if not selector:
        return objects
    # It imports the tables of all kinds.
    from orchd.kinds.objects.selectors import LabelSelector

    parsed = LabelSelector.parse(selector)
    chosen = [obj for obj in objects if parsed.matches(obj["metadata"].get("labels") or {})]
    if not chosen:
        raise CommandError(f"no object of the files has the labels {selector}: check -l")
    return chosen


def _files(name: str, recursive: bool) -> list[str]:
    path = Path(name)
    if isinstance(name, Kustomization) or name == "-" or is_url(name) or not path.is_dir():
        return [name]
    inside = path.rglob("*") if recursive else path.iterdir()
    return [str(each) for each in sorted(inside) if each.is_file() and each.suffix in _SUFFIXES]


def parse_objects(text: str, source: str) -> Iterator[Object]:
    """Every object of a text; the members of a list one by one."""
    for part in _documents(text):
        value = parse_value(part, source)
        if value is not None:
            yield from _expand(value, source)


def parse_value(text: str, source: str) -> Any:
    """The value of a JSON or YAML text. Raises CommandError."""
    try:
        return yaml_.decode(text.encode())
    except yaml_.YAMLError as error:
        raise CommandError(f"{source}: {' '.join(str(error).split())}") from None
    except yaml.YAMLError as error:
        raise CommandError(explain_yaml_error(source, error)) from None


def _documents(text: str) -> Iterator[str]:
    part: list[str] = []
    for line in text.splitlines():
        if line.startswith("---") and not line[3:].strip().strip("#"):
            yield "\n".join(part)
            part = []
        else:
            part.append(line)
    yield "\n".join(part)


def _expand(value: Any, source: str) -> Iterator[Object]:
    if not isinstance(value, dict) or not value.get("apiVersion") or not value.get("kind"):
        raise CommandError(f"{source}: an object needs apiVersion and kind")
    if str(value["kind"]).endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _expand(item, source)
        return
    if not isinstance(value.get("metadata"), dict):
        raise CommandError(f"{source}: {value['kind']} needs metadata with a name")
    yield value
