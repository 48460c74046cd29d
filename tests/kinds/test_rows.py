"""The rows of built-in kinds are complete and consistent, and no other table is keyed by kind."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from orchd.assembly.verbs import named_verbs
from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds import rows
from orchd.kinds.builtin import groups
from orchd.kinds.catalog import builtin_catalog, builtin_types, find_row, versions_in
from orchd.kinds.release import SPECIFICATION
from orchd.kinds.rows import KindRow, Subresource, Validation, VersionRow, in_version, resolve
from orchd.server.registry.strategies.table import STRATEGIES

ROOT = Path(__file__).resolve().parents[2]
TYPES = builtin_types(ORCH)
CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: True)


def every_row() -> Iterator[tuple[str, rows.Row, KindRow]]:
    """(package, row as written, complete row) of every kind in every version."""
    for package in groups.MODULES:
        module = TYPES.module(package)
        for row in (*module.RESOURCES, *getattr(module, "LATER", ())):
            complete = find_row(TYPES, package, row.kind)
            assert complete is not None
            yield package, row, complete


EVERY = list(every_row())


def parameters(function: Any) -> int:
    """The number of parameters without a default."""
    return sum(p.default is p.empty for p in inspect.signature(function).parameters.values())


def functions_of(row: KindRow) -> Iterator[tuple[str, int]]:
    """(name, number of parameters) of every function that a row names."""
    yield row.table.printer, 2
    yield from ((name, 1) for name in (row.fields.values,) if name)
    yield from ((name, 2) for name in (row.validation.create,) if name)
    yield from ((name, 3) for name in (row.validation.update, *(s.update for s in row.subresources)) if name)
    yield from ((name, 4) for name in (row.warnings,) if name)
    if row.quota is not None and not row.quota.counted_as:
        yield from ((row.quota.usage, 2), (row.quota.concerns, 2))
    if row.conversion is not None:
        yield from ((row.conversion.to_hub, 2), (row.conversion.from_hub, 2))


def test_each_kind_has_one_row() -> None:
    """Each stored kind has one row; versions of one kind share its store key, and no two kinds do."""
    written = [(package, row) for package, row, _ in EVERY if isinstance(row, KindRow)]
    keys = [row.key for _, row in written if row.key]
    assert len(keys) == len(set(keys))
    for package, row, complete in EVERY:
        assert row.kind in TYPES.module(package).TYPES, (package, row.kind)
        if isinstance(row, VersionRow):
            home = find_row(TYPES, row.of, row.kind)
            assert home is not None and home.key == complete.key and home.storage_version, (package, row.kind)


def test_every_resource_has_its_row() -> None:
    """The served resources are those of the rows, in both dialects."""
    served = {(r.group, r.version, r.kind) for r in CATALOG.resources}
    templates = {group: {each.name for each in versions} for group, versions in versions_in(SPECIFICATION)}
    listed = {
        (ORCH(module.GROUP), module.VERSION, row.kind)
        for package, row, complete in EVERY
        for module in (TYPES.module(package),)
        if complete.plural
        and module.VERSION in templates.get(module.GROUP, ())
        and SPECIFICATION.includes(row.since, row.until)
    }
    assert served == listed
    other = builtin_catalog(KUBERNETES, enabled=lambda group, version, default: True)
    assert [r.row for r in other.resources] == [r.row for r in CATALOG.resources]


@pytest.mark.parametrize(("package", "row"), [(p, c) for p, _, c in EVERY], ids=[f"{p}.{r.kind}" for p, r, _ in EVERY])
def test_rows_name_existing_functions_and_kinds(package: str, row: KindRow) -> None:
    """The named functions exist with these parameters; strategies, verbs, kinds and paths exist."""
    for name, count in functions_of(row):
        assert parameters(resolve(name)) == count, name
    assert row.strategy == "" or row.strategy in STRATEGIES
    kind = TYPES.get(f"{package}.{row.kind}")
    for path in (*(row.generation or ()), ".".join(row.pod_template or ())):
        type_ = kind
        for member in filter(None, path.split(".")):
            type_ = type_.fields[member].type
    assert bool(row.served_by) == (bool(row.plural) and not row.key)
    columns = [line.partition("|")[0] for line in row.table.columns]
    assert set(row.table.descriptions) <= set(columns)


def test_stored_kinds_are_validated() -> None:
    """Every stored kind has rules for create and update."""
    missing = [c.kind for _, _, c in EVERY if c.key and not (c.validation.create and c.validation.update)]
    # Kinds of releases after the specification's, whose rules follow.
    later = {"DeviceClass", "IPAddress", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "ServiceCIDR"}
    assert set(missing) <= {"StorageVersion", "VolumeAttributesClass", *later}


def test_verbs_and_strategies_are_those_of_the_rows() -> None:
    """Every name in `served_by` and `strategy` has its implementation, and every implementation a row."""
    named = {c.served_by for _, _, c in EVERY if c.served_by}
    named |= {s.served_by for _, _, c in EVERY for s in c.subresources}
    named |= {row.served_by for package in groups.LATER for row in TYPES.module(package).LATER}
    dependencies = mock.MagicMock(catalog=CATALOG)
    assert named == set(named_verbs(dependencies))
    assert {c.strategy for _, _, c in EVERY if c.strategy} == set(STRATEGIES)
    scaled = [(s.name, s.scale is not None) for _, _, c in EVERY for s in c.subresources]
    assert all((name == "scale") == has for name, has in scaled)


MEMBER = re.compile(r"\.(\w+)")


def test_each_member_of_a_row_is_read() -> None:
    """Some module reads each member of a row."""
    read = set()
    for path in (ROOT / "orchd").rglob("*.py"):
        if path.parent.name != "builtin" and path.name != "rows.py":
            read.update(MEMBER.findall(path.read_text(encoding="utf-8")))
    types = (KindRow, Subresource, Validation, rows.Table, rows.FieldSelectors, rows.Quota, rows.Scale, rows.Conversion)
    assert not [f"{t.__name__}.{f.name}" for t in types for f in dataclasses.fields(t) if f.name not in read]


def test_each_member_is_set_in_some_row() -> None:
    """Each member differs from its default in some row."""
    complete = [c for _, _, c in EVERY]
    for member in dataclasses.fields(KindRow):
        assert len({repr(getattr(row, member.name)) for row in complete}) > 1, member.name


def test_versions_share_the_facts_of_the_row() -> None:
    """A version has the facts of the kind, except those of the other version alone."""
    row = KindRow(
        kind="A", plural="as", key="as", orphans=True, deprecated=rows.Deprecation(since="v1"),
        subresources=(Subresource(name="status", update="x.y"), Subresource(name="scale")),
    )  # fmt: skip
    changed = in_version(row, VersionRow(kind="A", of="a/v1", subresources=(Subresource(name="status"),)))
    assert (changed.plural, changed.key, changed.orphans, changed.deprecated) == ("as", "as", False, None)
    assert changed.subresources == (Subresource(name="status"), Subresource(name="scale"))


# --- no table elsewhere -------------------------------------------------------------------------

KINDS = {r.kind for r in CATALOG.resources}
PLURALS = {r.plural for r in CATALOG.resources}

#: Tables that contain names of kinds without stating anything about kinds.
ALLOWED = {
    ("kinds/objects/tabulate/descriptions.py", "BY_COLUMN"): "names of columns",
    ("kinds/objects/validate/core/limits.py", "_LIMIT_TYPES"): "values of a field of LimitRange",
    ("kinds/objects/validate/core/resources.py", "COUNTED"): "names in a ResourceQuota",
    ("kinds/later_gates.py", "_ENDED"): "names of feature gates",
    ("kinds/openapi/enums.py", "_LATER"): "names of fields",
    ("assembly/bootstrap_cluster.py", "_REQUIRED"): "resources without which no cluster starts",
    ("assembly/delegation.py", "_PLURALS"): "reviews that a client sends",
    ("server/pipeline/verbs/subresources/token.py", "bindable"): "objects that a token can be bound to",
}


def keys_of(node: ast.AST) -> list[str]:
    """The keys of a table: keys of a dict, members of a set, words of a text that is split."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Dict):
        return [text for key in node.keys if key is not None for text in keys_of(key)]
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return [text for each in node.elts for text in keys_of(each)]
    if isinstance(node, ast.Call):
        found = [text for each in node.args[:1] for text in keys_of(each)]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            found += [word for text in keys_of(node.func.value) for word in text.split()]
        return found
    return keys_of(node.value) if isinstance(node, ast.Starred) else []


def tables(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """(name, value) of everything that a module or class assigns."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for statement in (each for body in bodies for each in body):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value


#: A type, ``core/v1.Pod`` or ``core.Pod``: tables about types are not about kinds.
TYPE = re.compile(r"[a-z]+(/\w+)?\.[A-Z]\w*")


def kinds_in(texts: list[str]) -> int:
    """The number of kinds that `texts` name, with or without a group: ``pods``, ``deployments.apps``,
    ``apps/Deployment``."""
    names = [text for text in texts if not TYPE.fullmatch(text)]
    parts = {part for text in names for part in re.split(r"[/.]", text)}
    return max(len(parts & KINDS), len(parts & PLURALS))


def test_no_other_table_is_keyed_by_kind() -> None:
    """No module of kinds, registry, verbs, webhooks, assembly or cache has a table of kinds beside the rows."""
    found = set()
    for package in ("kinds", "server/registry", "server/pipeline", "server/admission/webhooks", "assembly", "cache"):
        for path in sorted((ROOT / "orchd" / package).rglob("*.py")):
            if path.parent.name == "builtin":
                continue
            for name, value in tables(path):
                if name != "informers" and kinds_in(keys_of(value)) > 1:
                    found.add((str(path.relative_to(ROOT / "orchd")), name))
    assert found == set(ALLOWED)


@pytest.mark.parametrize("text", [
    'A = {"pods": 1, "services": 2}', 'A = frozenset("pods services".split())', 'A: Final = {("", "pods"): 1, ("", "nodes"): 2}',
    'class A:\n    B = ("apps/Deployment", "batch/Job")', 'A = {"pods/exec": 1, "services/proxy": 2}',
])  # fmt: skip
def test_tables_keyed_by_kind_are_detected(tmp_path: Path, text: str) -> None:
    """Tables are detected in each form of keys."""
    (tmp_path / "a.py").write_text(text)
    assert any(kinds_in(keys_of(value)) > 1 for _, value in tables(tmp_path / "a.py"))
