"""Tables of objects, as ``get`` prints them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import Form
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import UNKNOWN, human_duration
from orchd.kinds.times import seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Settings of the output from the flags of ``get``."""

    form: Form = field(default_factory=Form)
    selector: str = ""
    field_selector: str = ""
    everywhere: bool = False
    watch: bool = False
    watch_only: bool = False
    headings: bool = True
    show_labels: bool = False
    label_columns: tuple[str, ...] = ()
    sort_by: str = ""
    ignore_not_found: bool = False
    show_kind: bool = False
    subresource: str = ""
    events: bool = False

    @property
    def tabular(self) -> bool:
        return self.form in ("", "wide")

    def query(self, name: str = "") -> dict[str, str]:
        fields = f"metadata.name={name}" if name else self.field_selector
        selectors = {"labelSelector": self.selector, "fieldSelector": fields}
        return {key: value for key, value in selectors.items() if value}


def plain_table(value: Object, now: float) -> Object:
    """The table of names and ages of an object or list that the server has no table of."""
    objects = value["items"] if isinstance(value.get("items"), list) else [value]
    rows = []
    for each in objects:
        metadata = each.get("metadata") or {}
        age = age_text(now, str(metadata.get("creationTimestamp") or ""))
        rows.append({"cells": [str(metadata.get("name", "")), age], "object": {"metadata": metadata}})
    columns = [{"name": "Name", "priority": 0}, {"name": "Age", "priority": 0}]
    return {"kind": "Table", "columnDefinitions": columns, "rows": rows, "metadata": value.get("metadata") or {}}


def sorted_rows(rows: list[Any], view: View) -> list[Any]:
    if not view.sort_by:
        return rows
    return sorted(rows, key=lambda row: sort_key(row.get("object"), view.sort_by))


def sort_key(obj: Any, path: str) -> tuple[int, float, str]:
    """Numbers by value, then texts; objects without the value first."""
    # Most tables are not sorted.
    from orchd.ctl.printing import jsonpath

    values = jsonpath.find(obj, path)
    if not values:
        return (0, 0.0, "")
    value = values[0]
    if isinstance(value, int | float):
        return (1, float(value), "")
    return (2, 0.0, jsonpath.plain_text(value))


class TableOutput:
    """Prints tables of one resource, the first with headings."""

    def __init__(self, view: View, resource: Resource, *, prefix: bool) -> None:
        self._view = view
        self._resource = resource
        self._prefix = prefix
        self._columns: output.Columns | None = None
        self._chosen: list[int] = []

    def write(self, table: Object, event: str = "ADDED") -> None:
        """Print the rows of a table; `event` is what happened to them."""
        view = self._view
        definitions = table.get("columnDefinitions") or ()
        if self._columns is None:
            wide = view.form == "wide"
            self._chosen = [at for at, each in enumerate(definitions) if wide or not each.get("priority")]
            names = [str(definitions[at]["name"]) for at in self._chosen]
            if view.everywhere and self._resource.namespaced:
                names = ["namespace", *names]
            names += [key.rpartition("/")[2] for key in view.label_columns] + (["labels"] if view.show_labels else [])
            names = ["event", *names] if view.events else names
            self._columns = output.Columns(names, show_headings=view.headings)
        first = [event] if view.events else []
        self._columns.write([first + self._cells(row) for row in table.get("rows") or ()])

    def _cells(self, row: Object) -> list[str]:
        metadata = (row.get("object") or {}).get("metadata") or {}
        labels = metadata.get("labels") or {}
        cells = [output.cell_text(row["cells"][at]) for at in self._chosen]
        if self._prefix and cells:
            cells[0] = self._resource.label(cells[0])
        if self._view.everywhere and self._resource.namespaced:
            cells = [str(metadata.get("namespace", "")), *cells]
        cells += [str(labels.get(key, "")) for key in self._view.label_columns]
        if self._view.show_labels:
            cells.append(",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>")
        return cells


def age_text(now: float, stamp: str) -> str:
    """Time since `stamp`, as tables of the server show it."""
    try:
        then = seconds_of(stamp)
    except ValueError:
        then = None
    return UNKNOWN if then is None else human_duration(max(0, int(now - then)))
