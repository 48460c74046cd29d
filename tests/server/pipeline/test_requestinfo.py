"""Parsing of every path shape, as a table."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from orchd.server.pipeline.requestinfo import parse

#: method, path with query -> verb, group, version, namespace, resource, subresource, name
RESOURCES = [
    ("GET", "/api/v1/pods", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=true", "watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch", "watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=yes", "watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=0", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=False", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/namespaces/a/pods", "list", "", "v1", "a", "pods", "", ""),
    ("GET", "/api/v1/namespaces/a/pods/p", "get", "", "v1", "a", "pods", "", "p"),
    ("GET", "/api/v1/namespaces/a/pods/p?watch=1", "get", "", "v1", "a", "pods", "", "p"),
    ("HEAD", "/api/v1/namespaces/a/pods/p", "get", "", "v1", "a", "pods", "", "p"),
    ("PUT", "/api/v1/namespaces/a/pods/p", "update", "", "v1", "a", "pods", "", "p"),
    ("PATCH", "/api/v1/namespaces/a/pods/p/status", "patch", "", "v1", "a", "pods", "status", "p"),
    ("DELETE", "/api/v1/namespaces/a/pods/p", "delete", "", "v1", "a", "pods", "", "p"),
    ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection", "", "v1", "a", "pods", "", ""),
    ("POST", "/api/v1/namespaces/a/pods/p/binding", "create", "", "v1", "a", "pods", "binding", "p"),
    ("GET", "/api/v1/namespaces/a/pods/p/proxy/x/y", "get", "", "v1", "a", "pods", "proxy", "p"),
    ("GET", "/api/v1/namespaces", "list", "", "v1", "", "namespaces", "", ""),
    ("GET", "/api/v1/namespaces/a", "get", "", "v1", "a", "namespaces", "", "a"),
    ("PUT", "/api/v1/namespaces/a/finalize", "update", "", "v1", "a", "namespaces", "finalize", "a"),
    ("GET", "/api/v1/namespaces/a/status", "get", "", "v1", "a", "namespaces", "status", "a"),
    ("GET", "/apis/apps/v1/deployments/", "list", "apps", "v1", "", "deployments", "", ""),
    ("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale", "get", "apps", "v1", "a", "deployments", "scale", "d"),
    ("GET", "/apis/g.example/v1/wheels/w", "get", "g.example", "v1", "", "wheels", "", "w"),
    ("GET", "/api/v1/watch/pods", "watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch", "", "v1", "a", "pods", "", "p"),
    ("POST", "/api/v1/watch/namespaces/a/pods", "watch", "", "v1", "a", "pods", "", ""),
    ("GET", "/api/v1/proxy/nodes/n", "proxy", "", "v1", "", "nodes", "", "n"),
    ("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name=p", "list", "", "v1", "a", "pods", "", "p"),
    ("GET", "/api/v1/namespaces/a/pods?fieldSelector=spec.x=1,metadata.name==p", "list", "", "v1", "a", "pods", "", "p"),
    ("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name!=p", "list", "", "v1", "a", "pods", "", ""),
    ("DELETE", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name=p", "deletecollection", "", "v1", "a", "pods", "", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", RESOURCES, ids=lambda row: f"{row[0]} {row[1]}")
def test_resource_path_parsing(row: tuple[str, ...]) -> None:
    """A path names group, version, namespace, resource, subresource and name; method and query make the verb."""
    method, url, *expected = row
    path, _, query = url.partition("?")
    info = parse(method, path, parse_qs(query, keep_blank_values=True))
    assert info.is_resource
    got = [info.verb, info.group, info.version, info.namespace, info.resource, info.subresource, info.name]
    assert got == expected


PLAIN = ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/openapi/v2", "//api/v1/pods",
         "/api/v1/watch", "/version/x"]  # fmt: skip


@pytest.mark.parametrize("path", PLAIN)
def test_non_resource_path_parsing(path: str) -> None:
    """Other paths are authorized by path and lower-case method."""
    info = parse("GET", path, {})
    assert (info.is_resource, info.path, info.verb) == (False, path, "get")
