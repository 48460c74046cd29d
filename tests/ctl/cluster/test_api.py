"""Responses of servers."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api, is_object_or_list
from orchd.ctl.errors import CommandError
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        "x",
        5,
        {"items": 5},
        {"items": ["x"]},
        {"metadata": 5},
        {"rows": [{}]},
        {"columnDefinitions": [{}]},
        {"groups": [{}]},
        {"items": [{"metadata": 5}]},
    ],
)
def test_answers_that_are_no_objects_are_told(value: object) -> None:
    """JSON of a shape that commands do not rely on is told from objects, lists and tables."""
    assert not is_object_or_list(value)


def test_the_same_page_of_a_list_again_is_an_error(ctl: Ctl) -> None:
    """A server that gives one continue token for ever ends a list with an error."""

    class Client:
        async def exchange(self, call: Call) -> RawResponse:
            body = b'{"metadata": {"continue": "again"}, "items": []}'
            return RawResponse(code=200, content_type="application/json", body=body, warnings=())

    api = Api(cast(Any, Client()), None, "default", lambda text: None)
    resource = run(
        Api(ctl.server.client("admin", agent="ctl"), None, "default", lambda text: None).discovery.find("configmaps")
    )
    with pytest.raises(CommandError, match="the same page of the list again and again"):
        run(api.list(resource))


@pytest.mark.parametrize(("kind", "key"), [("ConfigMapList", "items"), ("Table", "rows")])
def test_lists_of_several_pages(ctl: Ctl, kind: str, key: str) -> None:
    """Pages are joined; the version is that of the last one."""
    asked: list[dict[str, str]] = []

    class Client:
        async def exchange(self, call: Call) -> RawResponse:
            asked.append(dict(call.query or {}))
            number = len(asked)
            metadata = {"resourceVersion": str(number), **({"continue": f"t{number}"} if number < 3 else {})}
            page = {"kind": kind, "metadata": metadata, key: [{"metadata": {"name": f"m{number}"}, "cells": []}]}
            return RawResponse(
                code=200, content_type="application/json", body=json.dumps(page).encode(), warnings=("w",)
            )

    warnings: list[str] = []
    api = Api(cast(Any, Client()), None, "default", warnings.append)
    resource = run(
        Api(ctl.server.client("admin", agent="ctl"), None, "default", lambda text: None).discovery.find("configmaps")
    )
    listed = run(api.list(resource, query={"labelSelector": "a=b"}))
    assert [each["metadata"]["name"] for each in listed[key]] == ["m1", "m2", "m3"]
    assert listed["metadata"] == {"resourceVersion": "3"} and warnings == ["w"] * 3
    page = {"labelSelector": "a=b", "limit": "500"}
    assert asked == [page, {**page, "continue": "t1"}, {**page, "continue": "t2"}]


@pytest.mark.parametrize(
    ("body", "says"),
    [(b"<html>", "the server's response is not JSON"), (b"[]", "the server's response is no API object")],
)
def test_responses_that_are_no_objects(body: bytes, says: str) -> None:
    class Client:
        async def exchange(self, call: Call) -> RawResponse:
            return RawResponse(code=200, content_type="text/html", body=body, warnings=())

    api = Api(cast(Any, Client()), None, "default", lambda text: None)
    with pytest.raises(CommandError, match=f"/x: {says}"):
        run(api.document("/x"))
