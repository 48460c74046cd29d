"""Tables without rows, and metadata alone."""

from __future__ import annotations

import orjson
import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import partial, tables
from orchd.kinds.objects.tabulate.table import tabulator


@pytest.mark.parametrize(
    ("group", "plural", "null"),
    [("rbac.authorization.{abbr}.io", "roles", True), ("", "limitranges", True), ("", "pods", False)],
)
def test_tables_without_rows(group: str, plural: str, null: bool) -> None:
    """Kinds with the default columns have null for no rows, others an empty list."""
    resource = builtin_catalog(ORCH).resource(ORCH(group), "v1", plural)
    assert resource is not None and tabulator(resource, ORCH).null is null
    for rows in ([], [b"{}"]):
        table = orjson.loads(b"".join(tables.table_pieces("m/v1", {}, b"[]", rows, null=null)))
        assert table["rows"] == ([{}] if rows else None if null else [])


def test_metadata_alone_has_no_annotation_of_a_version() -> None:
    """The generation of a template of a DaemonSet is an annotation of the complete object only."""
    key = "deprecated.daemonset.template.generation"
    whole = {"metadata": {"name": "a", "annotations": {key: "1", "b": "c"}}}
    assert partial.partial(whole, "m/v1")["metadata"] == {"name": "a", "annotations": {"b": "c"}}
    assert partial.partial({"metadata": {"annotations": {key: "1"}}}, "m/v1")["metadata"] == {}
    assert key in whole["metadata"]["annotations"]
