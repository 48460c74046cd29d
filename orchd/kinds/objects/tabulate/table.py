"""Tables (``meta/v1`` Table), for clients that print kinds that they do not know.

Cells are computed from objects of built-in kinds in the form of the hub version (`orchd.kinds.objects.convert.to_hub`), so that they
do not depend on the version of the request, and from objects of custom kinds in the version whose definition has the columns.
Wide cells are always included; clients hide them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.tabulate import custom, pods
from orchd.kinds.objects.tabulate.ages import Ages
from orchd.kinds.objects.tabulate.descriptions import CREATED, NAME, describe
from orchd.kinds.objects.tabulate.text import Cells, Json, Printing
from orchd.kinds.rows import DEFAULT_PRINTER, resolve

#: A printer: returns the cells of an object.
Printer = Callable[[Json, Printing], Cells]

#: Values of the parameter includeObject; METADATA is the default.
METADATA: Final = "Metadata"
OBJECT: Final = "Object"
NO_OBJECT: Final = "None"

_TYPES: Final = frozenset(("integer", "boolean", "date"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tabulator:
    """The printer of one resource: its columns as JSON data and as bytes, and the function that fills them."""

    columns: tuple[Mapping[str, Any], ...]
    columns_json: bytes
    #: A table without rows has null instead of a list: that of kinds with the default columns.
    null: bool
    printer: Printer
    pods: bool = False
    #: How often the columns search whole objects.
    searches: int = 0

    def cells(self, o: Json, printing: Printing) -> list[Any]:
        return self.printer(o, printing)

    def row(self, o: Json, printing: Printing, object_: Any) -> dict[str, Any]:
        """A row; `object_` is the object of the row, None for none."""
        conditions = pods.conditions(o) if self.pods else None
        if conditions is None:
            return {"cells": self.printer(o, printing), "object": object_}
        return {"cells": self.printer(o, printing), "conditions": conditions, "object": object_}


def has_columns(resource: Resource) -> bool:
    """True if the tabulator of a kind has been made."""
    return "tabulate" in resource.type.memo


def tabulator(resource: Resource, dialect: Dialect) -> Tabulator:
    """The tabulator of a resource, made once per type (and per definition of a custom kind)."""
    memo = resource.type.memo.get("tabulate")
    if memo is not None and memo[0] is resource.definition and memo[1] is dialect:
        tabulator_: Tabulator = memo[2]
        return tabulator_
    built = _custom(resource, dialect) if resource.custom else _builtin(resource, dialect)
    resource.type.memo["tabulate"] = (resource.definition, dialect, built)
    return built


def _builtin(resource: Resource, dialect: Dialect) -> Tabulator:
    described = resource.row.table
    printer: Printer = resolve(described.printer)
    is_pod = printer in pods.PRINTERS
    if described.visible:
        printer = _showing(printer, described.visible)
    columns = []
    for line in described.columns:
        name, *words = line.split("|")
        type_ = next((word for word in words if word in _TYPES), "string")
        description = dialect(described.descriptions.get(name) or describe(name))
        columns.append(_column(name, type_, "name" if "name" in words else "", description, int("wide" in words)))
    return _tabulator(columns, printer, is_pod=is_pod, null=described.printer == DEFAULT_PRINTER)


def _showing(printer: Printer, positions: tuple[int, ...]) -> Printer:
    """A printer that returns the cells at `positions` of those of `printer`."""

    def cells(o: Json, printing: Printing) -> Cells:
        every = printer(o, printing)
        return [every[position] for position in positions]

    return cells


def _custom(resource: Resource, dialect: Dialect) -> Tabulator:
    printed = (resource.definition or {}).get("additionalPrinterColumns")
    columns = [_column("Name", "string", "name", dialect(NAME), 0)]
    if not printed:
        printed = [custom.AGE]
        columns.append(_column("Age", "date", "", dialect(CREATED), 0))
    else:
        columns += [
            _column(
                c["name"],
                c["type"],
                c.get("format") or "",
                c.get("description") or _FROM_DEFINITION + c["jsonPath"],
                c.get("priority") or 0,
            )
            for c in printed
        ]
    return replace(_tabulator(columns, custom.printer(printed)), searches=custom.count_searches(printed))


#: Description of a column without one in the definition.
_FROM_DEFINITION: Final = "Custom resource definition column (in JSONPath format): "


def _column(name: str, type_: str, format_: str, description: str, priority: int) -> dict[str, Any]:
    return {"name": name, "type": type_, "format": format_, "description": description, "priority": priority}


def _tabulator(columns: list[Any], printer: Printer, *, is_pod: bool = False, null: bool = False) -> Tabulator:
    encoded = orjson.dumps(columns)
    return Tabulator(columns=tuple(columns), columns_json=encoded, printer=printer, pods=is_pod, null=null)


def columns(resource: Resource, dialect: Dialect) -> list[Mapping[str, Any]]:
    """The column definitions of a resource (name, type, format, description, priority). Shared: must not be modified."""
    return list(tabulator(resource, dialect).columns)


def table(
    rows: Iterable[tuple[Json, Json | None]],
    resource: Resource,
    list_meta: Mapping[str, Any],
    now: datetime,
    dialect: Dialect,
    *,
    with_columns: bool = True,
    api_version: str = "",
) -> dict[str, Any]:
    """A Table with a row for each pair of an object and the object that the row contains, None for none. `api_version` is the
    requested version of its group. Watches send column definitions with the first event only (`with_columns`)."""
    how = tabulator(resource, dialect)
    printing = Printing(age=Ages(now), dialect=dialect)
    return {
        "kind": "Table",
        "apiVersion": api_version or f"{dialect.meta_group}/v1",
        "metadata": dict(list_meta),
        "columnDefinitions": list(how.columns) if with_columns else None,
        "rows": [how.row(o, printing, metadata) for o, metadata in rows] or (None if how.null else []),
    }
