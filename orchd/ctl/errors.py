"""Failures of commands and the one line that a user reads about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import yaml

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.errors import ApiError


class CommandError(Exception):
    """A command failed. Each message is one line that says what to do about it; `status` is the exit status."""

    def __init__(self, *messages: str, status: int = 1) -> None:
        super().__init__("; ".join(messages))
        self.messages = messages
        self.status = status


#: Advice by status code, appended to the server's message.
_ADVICE: Final = {
    401: "check the credentials of the current context (config view)",
    403: "auth can-i --list shows what the current user may do",
    406: "the server has no table of this resource: use -o yaml",
}


def is_ownership_conflict(error: ApiError) -> bool:
    """True if other managers own fields that were applied."""
    return error.reason == "Conflict" and "FieldManagerConflict" in str(error.details)


def explain_api_error(error: ApiError) -> str:
    """The message of an API error and what to do about it, in one line."""
    message = "; ".join(line.strip() for line in error.message.splitlines() if line.strip())
    message = message or f"the server responded with {error.code}"
    if isinstance(error, UnreachableError):
        return f"{message}: check --server, or the cluster of the current context (config view)"
    if isinstance(error, NoResponseError):
        return f"{message}: give a longer --request-timeout, or check the server's health"
    if error.reason == "NotFound" and not (error.details or {}).get("name"):
        return f"{message}: check the name; api-resources lists what the server has"
    if is_ownership_conflict(error):
        return f"{message}: --force-conflicts takes over the fields"
    advice = _ADVICE.get(error.code)
    return f"{message}: {advice}" if advice else message


class Failures:
    """Errors of a command that goes on with its other objects. A server that does not respond ends it at once."""

    def __init__(self) -> None:
        self._errors: list[ApiError | CommandError] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    @contextmanager
    def collect(self, *, missing_ok: bool = False) -> Iterator[None]:
        """Keep an error of the work on one object; with `missing_ok` not that it is not there."""
        try:
            yield
        except (UnreachableError, NoResponseError):
            raise
        except ApiError as error:
            if not (missing_ok and error.code == 404):
                self._errors.append(error)
        except CommandError as error:
            self._errors.append(error)

    def raise_collected(self) -> None:
        """Raises the error if there is one, and a CommandError with the messages of several."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            texts = (explain_api_error(each) if isinstance(each, ApiError) else str(each) for each in self._errors)
            raise CommandError(*dict.fromkeys(texts))


def explain_yaml_error(source: str, error: yaml.YAMLError) -> str:
    """Source, line and problem of an invalid YAML document, in one line."""
    mark = getattr(error, "problem_mark", None)
    where = f" line {mark.line + 1}" if mark is not None else ""
    return f"{source}{where}: not YAML: {getattr(error, 'problem', None) or 'cannot be read'}"
