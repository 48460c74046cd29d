"""Node labels as columns of small numbers, and node selectors as masks over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from orchd.kinds.objects.node_selectors import NodeTerms, compare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Values = NDArray[np.int32]

#: Selectors whose masks are kept.
_KEPT = 512
#: Number of columns up to which one is kept: the creators of nodes and pods choose the keys.
_MOST_COLUMNS = 1000
#: Number of terms up to which columns are compared for each; with more, they are looked for by the labels of each node.
MOST_TERMS = 200
#: Number of labels in a selector up to which their columns are compared; with more, the labels of each node are.
_MOST_COMPARED = 64


class LabelColumn:
    """One label key: for each row the number of its value, -1 without one. Numbers of values are never reused."""

    __slots__ = ("numbers", "rows", "values")

    def __init__(self, size: int) -> None:
        self.rows: Values = np.full(size, -1, dtype=np.int32)
        self.values: list[str] = []
        self.numbers: dict[str, int] = {}

    def number(self, value: str) -> int:
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.values)
            self.values.append(value)
        return number

    def table(self, accept: Callable[[str], bool]) -> Mask:
        """For each value, and -1 at the end, whether it is accepted; a node without the label is not."""
        out = np.zeros(len(self.values) + 1, dtype=np.bool_)
        out[:-1] = [accept(value) for value in self.values]
        return out


class Labels:
    """Columns are built at the first use of a key that a node has; the other keys share one without values."""

    def __init__(self, size: int) -> None:
        self.size = size
        #: Labels and names of nodes by row, and the number of nodes that have a key.
        self._nodes: dict[int, tuple[Mapping[str, str], str]] = {}
        self._bearers: dict[str, int] = {}
        self._columns: dict[str, LabelColumn] = {}
        self._nowhere = LabelColumn(size)
        self._masks: dict[bytes, Mask] = {}
        self._names: LabelColumn | None = None

    def anywhere(self, key: str) -> bool:
        """True if a node has the label."""
        return key in self._bearers

    def column(self, key: str) -> LabelColumn:
        """The column of a key, for use at once."""
        if not self.anywhere(key):
            return self._nowhere
        column = self._columns.get(key)
        if column is None:
            column = self._build(key)
            if len(self._columns) < _MOST_COLUMNS:
                self._columns[key] = column
        return column

    def _build(self, key: str) -> LabelColumn:
        column = LabelColumn(self.size)
        for row, (labels, _) in self._nodes.items():
            value = labels.get(key)
            if value is not None:
                column.rows[row] = column.number(value)
        return column

    def grow(self, size: int) -> None:
        self.size = size
        self._masks.clear()
        for column in (*self._columns.values(), self._nowhere, *([self._names] if self._names else [])):
            more = np.full(size, -1, dtype=np.int32)
            more[: len(column.rows)] = column.rows
            column.rows = more

    def put(self, row: int, labels: Mapping[str, str], name: str) -> None:
        """A node is in `row` now."""
        before, _ = self._nodes.get(row, ({}, ""))
        self._nodes[row] = labels, name
        self._masks.clear()
        if before != labels:
            self._change(row, before, labels)
        if self._names is not None:
            self._names.rows[row] = self._names.number(name)

    def _change(self, row: int, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        bearers, columns = self._bearers, self._columns
        for key in before:
            if key in labels:
                continue
            left = bearers[key] - 1
            if left:
                bearers[key] = left
                if key in columns:
                    columns[key].rows[row] = -1
            else:
                del bearers[key]
                columns.pop(key, None)
        for key, value in labels.items():
            if key not in before:
                bearers[key] = bearers.get(key, 0) + 1
            column = columns.get(key)
            if column is not None:
                column.rows[row] = column.number(value)

    def remove(self, row: int) -> None:
        before, _ = self._nodes.pop(row)
        self._masks.clear()
        self._change(row, before, {})
        if self._names is not None:
            self._names.rows[row] = -1

    # -- selectors

    def match_labels(self, pairs: Mapping[str, str]) -> Mask:
        """Rows that have all these labels."""
        signature = b"=" + orjson.dumps(pairs, option=orjson.OPT_SORT_KEYS)
        mask = self._masks.get(signature)
        if mask is None:
            mask = self._match_each(pairs) if len(pairs) > _MOST_COMPARED else self._match_columns(pairs)
            self._keep(signature, mask)
        return mask

    def _match_columns(self, pairs: Mapping[str, str]) -> Mask:
        mask: Mask = np.ones(self.size, dtype=np.bool_)
        for key, value in pairs.items():
            column = self.column(key)
            mask &= column.rows == column.numbers.get(value, -2)
            if not mask.any():
                break
        return mask

    def _match_each(self, pairs: Mapping[str, str]) -> Mask:
        mask: Mask = np.zeros(self.size, dtype=np.bool_)
        for row, (labels, _) in self._nodes.items():
            mask[row] = pairs.items() <= labels.items()
        return mask

    def match_terms(self, terms: Sequence[Mapping[str, Any]]) -> Mask:
        """Rows that match any of these node selector terms."""
        signature = orjson.dumps(list(terms), option=orjson.OPT_SORT_KEYS)
        mask = self._masks.get(signature)
        if mask is None:
            mask = np.zeros(self.size, dtype=np.bool_)
            if len(terms) > MOST_TERMS:
                indexed = NodeTerms(terms)
                for row, (labels, name) in self._nodes.items():
                    mask[row] = indexed.match(labels, name)
            else:
                for term in terms:
                    mask |= self._term(term)
            self._keep(signature, mask)
        return mask

    def _keep(self, signature: bytes, mask: Mask) -> None:
        if len(self._masks) >= _KEPT:
            self._masks.clear()
        mask.setflags(write=False)
        self._masks[signature] = mask

    def _term(self, term: Mapping[str, Any]) -> Mask:
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        # An empty term matches no node.
        mask = np.full(self.size, bool(expressions or fields), dtype=np.bool_)
        for each in expressions:
            mask &= self._requirement(self.column(each["key"]), each)
            if not mask.any():
                return mask
        for each in fields:
            mask &= self._requirement(self._name_column(), each) if each["key"] == "metadata.name" else False
        return mask

    def _name_column(self) -> LabelColumn:
        if self._names is None:
            self._names = LabelColumn(self.size)
            for row, (_, name) in self._nodes.items():
                self._names.rows[row] = self._names.number(name)
        return self._names

    @staticmethod
    def _requirement(column: LabelColumn, requirement: Mapping[str, Any]) -> Mask:
        operator, values = requirement.get("operator"), requirement.get("values") or ()
        has: Mask = column.rows >= 0
        if operator == "Exists":
            return has
        if operator == "DoesNotExist":
            return ~has
        if operator in ("In", "NotIn"):
            table = np.zeros(len(column.values) + 1, dtype=np.bool_)
            table[[column.numbers[value] for value in values if value in column.numbers]] = True
            inside: Mask = table[column.rows]
            return inside if operator == "In" else ~inside
        mask: Mask = column.table(lambda value: compare(operator, value, values))[column.rows]
        return mask
