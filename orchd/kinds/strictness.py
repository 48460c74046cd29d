"""Handling of unknown and duplicate fields: ``fieldValidation``.

The default of the parameter is Warn, and problems are reported with their paths. Releases before 1.25 have the feature
gate ServerSideFieldValidation: without it, the default is Ignore, and a parameter that is given is honored as in later
releases; with the gate, the default is Warn and the texts are those of release 1.23; with the gate set to false, the
parameter is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds.codec import json_, yaml_
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.ir import Type
from orchd.kinds.objects import shape, strict
from orchd.kinds.objects.settings import ObjectSettings
from orchd.values import value_class

GATE: Final = "ServerSideFieldValidation"
#: Prefix of the lines of a YAML decoder that reports several errors.
_HEADINGS: Final = ("yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n")


@value_class()
class Strictness:
    """`mode` is Ignore, Warn or Strict; `warn` adds a warning to the response. `located`: problems are reported with
    their paths."""

    mode: str
    warn: Callable[[str], None]
    located: bool = False

    @property
    def checks(self) -> bool:
        """True unless problems are ignored."""
        return self.mode != "Ignore"

    def refusal(self, problems: Sequence[str]) -> str:
        """The error text; "" when the request passes, with warnings if there are problems."""
        if not problems:
            return ""
        if self.mode == "Strict":
            return "strict decoding error: " + ", ".join(problems)
        self.add_warnings(problems)
        return ""

    def add_warnings(self, problems: Sequence[str]) -> None:
        """Add one warning for each line of each problem."""
        for problem in problems:
            heading = next((h for h in _HEADINGS if problem.startswith(h)), "")
            for line in problem.removeprefix(heading).split("\n") if heading else (problem,):
                self.warn(line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValidation:
    """How a server treats the parameter: its default, whether problems are reported with their paths, and whether a
    parameter that is given is honored."""

    default: str
    located: bool
    honored: bool = True

    def strictness(self, directive: str, warn: Callable[[str], None]) -> Strictness:
        """The handling of unknown fields for the parameter `given`, "" without it."""
        return Strictness((directive if self.honored else "") or self.default, warn, located=self.located)


def _by_gate(settings: ObjectSettings) -> FieldValidation:
    gate = settings.features.get(GATE)
    if gate is False:
        return FieldValidation(default="Ignore", located=False, honored=False)
    return FieldValidation(default="Warn" if gate else "Ignore", located=gate is None)


def _warning(settings: ObjectSettings) -> FieldValidation:
    return FieldValidation(default="Warn", located=True)


def field_validation(settings: ObjectSettings) -> FieldValidation:
    """The treatment of the parameter in the release and with the feature gates of `settings`."""
    return settings.release.choose((("", _by_gate), ("1.25", _warning)))(settings)


def of_body(data: bytes, form: Form, obj: Any, type: Type, *, located: bool = False) -> list[str]:
    """The problems of a body that was decoded as `obj`; `located`: with their paths."""
    if form is Form.PROTOBUF:
        # Unknown protobuf field numbers are not reported, as in the reference.
        return []
    custom = shape.is_custom(type)
    if form is Form.YAML:
        repeated = yaml_.duplicates(data)
        problems = [repeated] if repeated else []
        names = strict.paths(obj, type, metadata=located) if custom else strict.names(obj, type, located=located)
        return problems + names
    members = json_.decode_members(data)
    if custom:
        return strict.duplicates(members, located=located) + strict.paths(obj, type, metadata=located)
    return strict.names(members, type, located=located)
