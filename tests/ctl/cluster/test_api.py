"""Responses of servers."""

from __future__ import annotations

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
