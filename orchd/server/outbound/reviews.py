"""Reviews by a service outside: documents posted to whoever a client configuration file names, again after failures
that pass, and read as the kind that was asked for.

The file and the certificates, keys and tokens that it names are read again now and then, so that they can be renewed
without a restart. Everything that waits is bounded: one call by 30 seconds, all of them by their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import orjson
from twisted.internet.defer import DeferredSemaphore
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchd.kinds.jsontext import type_name
from orchd.pki import clientconfig
from orchd.pki.clientconfig import ClientConfig, ClientConfigError
from orchd.server.outbound.webhooks import Answer, WebhookClient, WebhookError, read_document, refused

#: Seconds that one call may take.
_SECONDS = 30.0
#: Attempts, seconds before the second, by how much the pauses grow, and by what share at most they are stretched.
_ATTEMPTS, _PAUSE, _FACTOR, _JITTER = 5, 0.5, 1.5, 0.2
#: How often in one review, and for how long, a service is obeyed that asks to come again later.
_MOST_LATER, _LONGEST_LATER = 10, 30.0
#: Bytes of an answer. Reviews are small.
_MOST_BODY = 1024 * 1024
#: Seconds after which the files are looked at again.
_AGE = 60.0

#: Told of every call: the HTTP status as a text, ``<error>`` without one, and how many seconds it took.
Observe = Callable[[str, float], None]


class ConfigurationFile:
    """What a client configuration file says, read again when it is older than a minute of `seconds`."""

    _log = Logger()

    def __init__(self, path: str, seconds: Callable[[], float]) -> None:
        self._path = Path(path)
        self._seconds = seconds
        self._found = self._read()
        self._at = seconds()

    def __call__(self) -> ClientConfig:
        now = self._seconds()
        if now - self._at >= _AGE:
            self._at = now
            try:
                self._found = self._read()
            except ValueError as error:
                # Half-written files are normal while they are replaced one by one: the old ones are good till then.
                self._log.warn("not read again: {error}", error=str(error))
        return self._found

    def _read(self) -> ClientConfig:
        """Raises ValueError naming the file."""
        try:
            found = clientconfig.without_exec(clientconfig.load(self._path))
            if urlsplit(found.server).scheme not in ("https", "http"):
                raise ClientConfigError(f"not the URL of a service: {found.server}")
            if found.token_file:
                found = replace(found, token=Path(found.token_file).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as error:
            raise ValueError(f"{self._path}: {error}") from error
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`at_once` calls are under way at the same time, as many as `waiting` more may wait for their turn."""

    at_once: int = 200
    waiting: int = 2000


class RemoteReviews:
    """One service that reviews. `random` stretches pauses; `observe` is told of every call."""

    def __init__(
        self,
        calls: WebhookClient,
        configuration: Callable[[], ClientConfig],
        reactor: Any,
        *,
        random: Random,
        observe: Observe = lambda code, seconds: None,
        limits: Limits = Limits(),
        pause: float = _PAUSE,
    ) -> None:
        """`pause` is how many seconds pass before the second attempt."""
        self._calls = calls
        self._configuration = configuration
        self._reactor = reactor
        self._random = random
        self._observe = observe
        self._limits = limits
        self._pause = pause
        self._turns = DeferredSemaphore(limits.at_once)

    async def ask(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Post a review; gives back the answer, which is of the same kind and apiVersion. Raises WebhookError.

        Cancelling it ends the call that is under way."""
        body = orjson.dumps(document)
        pause, attempts, obeyed = self._pause, 0, 0
        while True:
            try:
                answer = await self._in_turn(body)
                later = _later(answer)
                if later is not None and obeyed < _MOST_LATER:
                    obeyed += 1
                    await deferLater(self._reactor, later)
                    continue
                if not 200 <= answer.code <= 206:
                    raise _status_error(answer)
                return _checked(read_document(answer.data, answer.code), document)
            except WebhookError as error:
                attempts += 1
                if attempts == _ATTEMPTS or not _passing(error):
                    raise
            await deferLater(self._reactor, pause * (1 + _JITTER * self._random.random()))
            pause *= _FACTOR

    async def _in_turn(self, body: bytes) -> Answer:
        if len(self._turns.waiting) >= self._limits.waiting:
            raise WebhookError("too many reviews are waiting for the service")
        await self._turns.acquire()
        try:
            return await self._posted(body)
        finally:
            self._turns.release()

    async def _posted(self, body: bytes) -> Answer:
        to = self._configuration()
        began = self._reactor.seconds()
        code = "<error>"
        try:
            answer = await self._calls.call(
                "POST", _url(to.server), _SECONDS, authority=to.authority, user=to, body=body, limit=_MOST_BODY
            )
            code = str(answer.code)
            return answer
        finally:
            self._observe(code, self._reactor.seconds() - began)


def _url(server: str) -> str:
    parts = urlsplit(server)
    path = "/" + parts.path.strip("/")
    return f"{parts.scheme}://{parts.netloc}{path}?timeout={_SECONDS:g}s"


def _later(answer: Answer) -> float | None:
    """After how many seconds a service asks to come again, within bounds; None when it does not."""
    asked = answer.headers.get("retry-after", "")
    if (answer.code == 429 or answer.code >= 500) and asked.isascii() and asked.isdigit():
        return min(float(asked), _LONGEST_LATER)
    return None


def _passing(error: WebhookError) -> bool:
    """May the same call go well a little later? Not when the service says that it is unavailable."""
    return error.reset or error.code == 429 or (error.code >= 500 and error.code != 503)


def _status_error(answer: Answer) -> WebhookError:
    """The error that an answer tells: its Status if it has one, otherwise what its HTTP status means."""
    try:
        found = orjson.loads(answer.data)
    except orjson.JSONDecodeError:
        found = None
    if isinstance(found, dict) and found.get("kind") == "Status" and found.get("status") == "Failure":
        return WebhookError(str(found.get("message") or "unknown"), answer.code)
    return refused(answer)


def _checked(found: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """`found` if it is of the kind and version of `asked`; where it does not say, it is taken to be."""
    expected = str(asked["apiVersion"]), str(asked["kind"])
    version, kind = found.get("apiVersion") or expected[0], found.get("kind") or expected[1]
    if (version, kind) == expected:
        return found
    group = expected[0].partition("/")[0]
    same = kind == expected[1] and version in (f"{group}/v1", f"{group}/v1beta1")
    if same or (version, kind) == ("v1", "Status"):
        raise WebhookError(f"converting ({_short(version)}.{kind}) to ({_short(expected[0])}.{expected[1]}): unknown conversion")
    raise WebhookError(f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:100"')


def _short(api_version: str) -> str:
    return api_version.rpartition("/")[2]


class ReviewStatus:
    """Reads members of a review's status, in the words of the reference where one is of the wrong type."""

    def __init__(self, review: Mapping[str, Any], struct: str) -> None:
        status = review.get("status")
        if status is not None and not isinstance(status, dict):
            raise mistyped(status, f"struct field {struct.removesuffix('Status')}.status", f"v1.{struct}")
        self._status: Mapping[str, Any] = status or {}
        self._struct = struct

    def flag(self, name: str) -> bool:
        """A boolean, False when it is absent. Raises WebhookError."""
        value = self._status.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise mistyped(value, f"struct field {self._struct}.status.{name}", "bool")

    def text(self, name: str) -> str:
        """A text, "" when it is absent. Raises WebhookError."""
        return read_text(self._status.get(name), f"struct field {self._struct}.status.{name}")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, () when it is absent. Raises WebhookError."""
        return read_texts(self._status.get(name), f"struct field {self._struct}.status.{name}")

    def inner(self, name: str, struct: str) -> Mapping[str, Any]:
        """An object, {} when it is absent. Raises WebhookError."""
        value = self._status.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        raise mistyped(value, f"struct field {self._struct}.status.{name}", f"v1.{struct}")


def read_text(value: Any, where: str) -> str:
    """A text or nothing. Raises WebhookError."""
    if value is None or isinstance(value, str):
        return value or ""
    raise mistyped(value, where, "string")


def read_texts(value: Any, where: str) -> tuple[str, ...]:
    """A list of texts or nothing. Raises WebhookError."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise mistyped(value, where, "[]string")
    return tuple(read_text(each, where) for each in value)


def mistyped(value: Any, where: str, wanted: str) -> WebhookError:
    """The error for a value of another type than its place in the kind has."""
    return WebhookError(f"json: cannot unmarshal {type_name(value)} into Go {where} of type {wanted}")
