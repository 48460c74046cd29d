"""The number of parameters is limited: more than seven collaborators need a class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PRODUCT = Path(__file__).resolve().parents[1] / "orchd"
MOST = 7
#: Functions with more, and why.
REASONS = {
    "assembly/server.py:ApiServer.__init__": "keywords with defaults, for programs that embed a server",
    "client/interfaces.py:IClient.list": "the query parameters of the API's list",
    "client/requests.py:list_": "as IClient.list",
    "client/interfaces.py:IClient.patch": "the query parameters of the API's patch",
    "client/requests.py:patch": "as IClient.patch",
    "kinds/codec/mediatype.py:negotiate": "keywords with defaults: what an endpoint offers",
    "kinds/ir.py:Field.__init__": "data: the attributes of a member",
    "kinds/ir.py:Type.__init__": "data: the attributes of a schema",
    "kinds/openapi/paths.py:Paths.operation": "the members of an OpenAPI operation",
    "kinds/openapi/paths.py:_ResourcePaths._operation": "the members of an OpenAPI operation",
    "pki/bootstrap.py:ensure": "keywords with defaults: names and places of files, of one caller",
    "server/outbound/webhooks.py:WebhookClient.call": "the parts of an HTTP request",
    "store/checksums.py:verify": "the columns of a row, called for each",
    "store/loading.py:Loading.take": "the columns of a row, called for each",
    "testing/cluster/cluster.py:Cluster.__init__": "keywords with defaults, for tests of users",
    "testing/trial.py:InProcessCluster.__init__": "as Cluster",
}


def many() -> Iterator[str]:
    """Functions with more parameters than `MOST`. Those of commands (`orchd/ctl`) are its options and arguments."""
    for path in sorted(PRODUCT.rglob("*.py")):
        place = path.relative_to(PRODUCT).as_posix()
        if not place.startswith("ctl/"):
            yield from _in(ast.parse(path.read_text(encoding="utf-8")), place, "")


def _in(node: ast.AST, place: str, owner: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = child.args
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            if len([name for name in names if name not in ("self", "cls")]) > MOST:
                yield f"{place}:{owner}{child.name}"
        yield from _in(child, place, f"{child.name}." if isinstance(child, ast.ClassDef) else owner)


def test_functions_have_few_parameters_or_a_reason() -> None:
    """Every production function has at most seven parameters, or a reason here."""
    assert set(many()) == REASONS.keys()
