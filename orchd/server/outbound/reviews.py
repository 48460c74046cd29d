"""Remote reviews: documents posted to the service in a client configuration file, with retries of transient failures
and a check of the response's kind.

The file and the certificates, keys and tokens that it names are reloaded periodically, so they can be renewed without a
restart. Every call has a timeout of 30 seconds; the number of concurrent and waiting calls is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import orjson
from twisted.internet.defer import CancelledError, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.kinds.gotext.values import json_name
from orchd.pki import clientconfig
from orchd.pki.clientconfig import ClientConfig, ClientConfigError
from orchd.server.outbound.webhooks import WebhookClient, WebhookError, WebhookResponse, failed_response, read_document
from orchd.txkit.file_reloading import FileReloader

#: Default timeout of one call in seconds.
SECONDS = 30.0
#: Attempts, seconds before the second attempt, growth factor of the pauses, and maximum jitter as a fraction.
_ATTEMPTS, _PAUSE, _FACTOR, _JITTER = 5, 0.5, 1.5, 0.2
#: Retry-After responses obeyed per review, and the maximum pause in seconds.
_MOST_LATER, _LONGEST_LATER = 10, 30.0
#: Maximum size of a response in bytes. Reviews are small.
_MOST_BODY = 1024 * 1024
#: Seconds between checks of the files.
_INTERVAL = 60.0

#: Called after every call with the HTTP status as text (``<error>`` without one) and the duration in seconds.
Observe = Callable[[str, float], None]
#: Called after every attempt with its result (success, error, timeout or canceled) and its duration in seconds.
Evaluated = Callable[[str, float], None]


class ConfigurationFile(FileReloader[ClientConfig]):
    """The contents of a client configuration file and of the files that it names. Raises ValueError naming the file."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = Path(path)
        self._named: tuple[str, ...] = ()
        super().__init__(
            f"the client configuration {path}",
            self._load,
            lambda: (path, *self._named),
            clock=clock,
            interval=_INTERVAL,
        )

    def _load(self) -> ClientConfig:
        try:
            text = self._path.read_text(encoding="utf-8")
            clientconfig.check_names(text)
            user = clientconfig.only_credentials(clientconfig.parse(text, folder=self._path.parent.absolute()))
            if urlsplit(user.server).scheme not in ("https", "http"):
                raise ClientConfigError(f"not the URL of a service: {user.server}")
            if user.token_file:
                user = replace(user, token=Path(user.token_file).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as error:
            raise ValueError(f"{self._path}: {error}") from error
        self._named = (*user.files, *([user.token_file] if user.token_file else ()))
        return user


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`at_once` calls run concurrently; up to `waiting` more are queued. One call may take `timeout` seconds; the
    second attempt follows after `pause`."""

    at_once: int = 200
    waiting: int = 2000
    timeout: float = SECONDS
    pause: float = _PAUSE


class RemoteReviews:
    """Client of one review service. `random` adds jitter to pauses; `observe` is called after every call."""

    def __init__(
        self,
        calls: WebhookClient,
        configuration: Callable[[], ClientConfig],
        reactor: IReactorTime,
        *,
        random: Random,
        observe: Observe = lambda code, seconds: None,
        evaluated: Evaluated = lambda result, seconds: None,
        limits: Limits = Limits(),
    ) -> None:
        self._calls = calls
        self._configuration = configuration
        self._reactor = reactor
        self._random = random
        self._observe = observe
        self._evaluated = evaluated
        self._limits = limits
        self._turns = DeferredSemaphore(limits.at_once)

    async def ask(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Post a review; returns the response, which has the same kind and apiVersion. Raises WebhookError.

        Cancelling aborts the current call."""
        body = orjson.dumps(document)
        pause, attempts = self._limits.pause, 0
        laters = iter(range(_MOST_LATER))
        while True:
            began = self._reactor.seconds()
            result = "error"
            try:
                response = await self._attempt(body, document, laters)
                result = "success"
                return response
            except WebhookError as error:
                result = error.outcome
                attempts += 1
                if attempts == _ATTEMPTS or not _passing(error):
                    raise
            except CancelledError:
                result = "canceled"
                raise
            finally:
                self._evaluated(result, self._reactor.seconds() - began)
            await deferLater(self._reactor, pause * (1 + _JITTER * self._random.random()))
            pause *= _FACTOR

    async def _attempt(self, body: bytes, document: Mapping[str, Any], laters: Iterator[int]) -> dict[str, Any]:
        """Post once, and again when the service asks for it, as often as `laters` has items. Raises WebhookError."""
        while True:
            response = await self._in_turn(body)
            later = _later(response)
            if later is None or next(laters, None) is None:
                break
            await deferLater(self._reactor, later)
        if not 200 <= response.code <= 206:
            raise _status_error(response)
        return _check(read_document(response.data, response.code), document)

    async def _in_turn(self, body: bytes) -> WebhookResponse:
        if len(self._turns.waiting) >= self._limits.waiting:
            raise WebhookError("too many reviews are waiting for the service")
        await self._turns.acquire()
        try:
            return await self._post(body)
        finally:
            self._turns.release()

    async def _post(self, body: bytes) -> WebhookResponse:
        to = self._configuration()
        began = self._reactor.seconds()
        code = "<error>"
        try:
            response = await self._calls.call(
                "POST",
                _url(to.server, self._limits.timeout),
                self._limits.timeout,
                authority=to.authority,
                user=to,
                body=body,
                limit=_MOST_BODY,
            )
            code = str(response.code)
            return response
        finally:
            self._observe(code, self._reactor.seconds() - began)


def _url(server: str, timeout: float) -> str:
    parts = urlsplit(server)
    path = "/" + parts.path.strip("/")
    return f"{parts.scheme}://{parts.netloc}{path}?timeout={timeout:g}s"


def _later(response: WebhookResponse) -> float | None:
    """Bounded Retry-After delay of a response in seconds; None without one."""
    asked = response.headers.get("retry-after", "")
    if (response.code == 429 or response.code >= 500) and asked.isascii() and asked.isdigit():
        return min(float(asked), _LONGEST_LATER)
    return None


def _passing(error: WebhookError) -> bool:
    """True if a retry may succeed. False when the service reports that it is unavailable."""
    return error.reset or error.code == 429 or (error.code >= 500 and error.code != 503)


def _status_error(response: WebhookResponse) -> WebhookError:
    """The error that a response describes: its Status if it has one, otherwise that of its HTTP status."""
    try:
        status = orjson.loads(response.data)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("status") == "Failure":
        return WebhookError(str(status.get("message") or "unknown"), response.code)
    return failed_response(response)


def _check(document: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """`found` if it has the kind and version of `asked`; absent ones are assumed to match."""
    expected = str(asked["apiVersion"]), str(asked["kind"])
    version, kind = document.get("apiVersion") or expected[0], document.get("kind") or expected[1]
    if (version, kind) == expected:
        return document
    group = expected[0].partition("/")[0]
    same = kind == expected[1] and version in (f"{group}/v1", f"{group}/v1beta1")
    if same or (version, kind) == ("v1", "Status"):
        raise WebhookError(
            f"converting ({_short(version)}.{kind}) to ({_short(expected[0])}.{expected[1]}): unknown conversion"
        )
    raise WebhookError(f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:100"')


def _short(api_version: str) -> str:
    return api_version.rpartition("/")[2]


class ReviewStatus:
    """Reads members of a review status; type errors are worded as in the reference."""

    def __init__(self, review: Mapping[str, Any], struct: str) -> None:
        status = review.get("status")
        if status is not None and not isinstance(status, dict):
            raise type_mismatch(status, f"struct field {struct.removesuffix('Status')}.status", f"v1.{struct}")
        self._status: Mapping[str, Any] = status or {}
        self._struct = struct

    def flag(self, name: str) -> bool:
        """A boolean member, False when absent. Raises WebhookError."""
        value = self._status.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise type_mismatch(value, f"struct field {self._struct}.status.{name}", "bool")

    def text(self, name: str) -> str:
        """A string member, "" when absent. Raises WebhookError."""
        return read_text(self._status.get(name), f"struct field {self._struct}.status.{name}")

    def texts(self, name: str) -> tuple[str, ...]:
        """A member that is a list of strings, () when absent. Raises WebhookError."""
        return read_texts(self._status.get(name), f"struct field {self._struct}.status.{name}")

    def inner(self, name: str, struct: str) -> Mapping[str, Any]:
        """An object member, {} when absent. Raises WebhookError."""
        value = self._status.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        raise type_mismatch(value, f"struct field {self._struct}.status.{name}", f"v1.{struct}")


def read_text(value: Any, where: str) -> str:
    """A string or None. Raises WebhookError."""
    if value is None or isinstance(value, str):
        return value or ""
    raise type_mismatch(value, where, "string")


def read_texts(value: Any, where: str) -> tuple[str, ...]:
    """A list of strings or None. Raises WebhookError."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise type_mismatch(value, where, "[]string")
    return tuple(read_text(each, where) for each in value)


def type_mismatch(value: Any, where: str, type_name: str) -> WebhookError:
    """The error for a value whose type differs from its field's."""
    return WebhookError(f"json: cannot unmarshal {json_name(value)} into Go {where} of type {type_name}")
