"""Requests whose path and body the user gives: ``--raw`` of ``create``, ``replace`` and ``delete``."""

from __future__ import annotations

from urllib.parse import parse_qsl

import orjson

from orchd.client.requests import Call
from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.errors import CommandError
from orchd.ctl.manifests import parse_value
from orchd.ctl.session import Session


def split_path(raw: str) -> tuple[str, dict[str, str]]:
    """Path and query of ``--raw``. Raises CommandError."""
    path, _, query = raw.partition("?")
    if not path.startswith("/"):
        raise CommandError(f"--raw={raw}: a path begins with /")
    return path, dict(parse_qsl(query, keep_blank_values=True))


def send_raw(session: Session, method: str, raw: str, files: tuple[str, ...]) -> None:
    """Send one file to a path of the server, and print the answer. A DELETE may have no file. Raises CommandError."""
    path, query = split_path(raw)
    if len(files) != 1 and not (method == "DELETE" and not files):
        raise CommandError("--raw takes one file: name it with -f, or - for standard input")
    body = parse_value(session.read(files[0]), "standard input" if files[0] == "-" else files[0]) if files else None

    async def work(api: Api) -> None:
        answer = await api.client.exchange(Call(method=method, path=path, query=query, body=body))
        for warning in answer.warnings:
            api.warn(warning)
        try:
            orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            raise CommandError(f"{path}: the server's answer is not JSON: check --server and the path") from None
        output.line(answer.body.decode("utf-8", "replace").rstrip("\n"))

    session.run(work)
