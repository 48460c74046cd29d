"""Handling of unknown and duplicate fields: ``fieldValidation``.

With the parameter, the response has warnings or an error worded as in later releases; without it, such fields are dropped
silently. With the feature gate ServerSideFieldValidation, the default of the parameter is Warn and the texts are those of release
1.23; with the gate set to false, the parameter is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """`mode` is Ignore, Warn or Strict; `warn` adds a warning to the response. `located`: problems are reported with their
    paths."""

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


def strictness(settings: ObjectSettings, validation: str, warn: Callable[[str], None]) -> Strictness:
    """The handling of unknown fields for the parameter `validation`, "" without it."""
    gate = settings.features.get(GATE)
    if gate is False:
        return Strictness("Ignore", warn)
    return Strictness(validation or ("Warn" if gate else "Ignore"), warn, located=gate is None)


def of_body(data: bytes, form: Form, obj: Any, type: Type, *, located: bool = False) -> list[str]:
    """The problems of a body that was decoded as `obj`; `located`: with their paths."""
    if form is Form.PROTOBUF:
        # Unknown protobuf field numbers are not reported, as in the reference.
        return []
    custom = shape.is_custom(type)
    if form is Form.YAML:
        repeated = yaml_.duplicates(data)
        found = [repeated] if repeated else []
        return found + (strict.paths(obj, type) if custom else strict.names(obj, type, located=located))
    members = json_.decode_members(data)
    if custom:
        return strict.duplicates(members, located=located) + strict.paths(obj, type)
    return strict.names(members, type, located=located)
