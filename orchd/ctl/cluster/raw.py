"""Requests whose path and body the user gives: ``--raw`` of ``create``, ``replace`` and ``delete``."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import orjson

from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError


def split_path(raw: str) -> tuple[str, dict[str, str]]:
    """Path and query of ``--raw``. Raises CommandError."""
    path, _, query = raw.partition("?")
    if not path.startswith("/"):
        raise CommandError(f"--raw={raw}: a path begins with /")
    return path, dict(parse_qsl(query, keep_blank_values=True))


def send_raw(session: Session, method: str, raw: str, body: Any) -> str:
    """Send a request to a path of the server. Returns the text of its JSON response; raises CommandError."""
    path, query = split_path(raw)

    async def work(api: Api) -> str:
        response = await api.client.exchange(Call(method=method, path=path, query=query, body=body))
        for warning in response.warnings:
            api.warn(warning)
        try:
            orjson.loads(response.body)
        except orjson.JSONDecodeError:
            raise CommandError(f"{path}: the server's response is not JSON: check --server and the path") from None
        return response.body.decode("utf-8", "replace").rstrip("\n") + "\n"

    return session.run(work)
