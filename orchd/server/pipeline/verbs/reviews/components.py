"""ComponentStatus: health of control plane components, probed on request and not stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds.fields import unstored_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.negotiation import Representation, check_table
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.get import refuse_export
from orchd.server.pipeline.verbs.subresources.foreign import bare_error

#: The reason for being unhealthy; "" when healthy.
Probe = Callable[[], str]


@dataclass(frozen=True, slots=True)
class _Component:
    """The selectable fields of a component."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


def _unknown(name: str) -> ApiError:
    return bare_error(f"Component not found: {name}")


def _not_found(name: str) -> ApiError:
    return errors.not_found("", "componentstatus", name)


class Components:
    """`probes` in list order: name -> (probe, message when healthy)."""

    def __init__(self, probes: Mapping[str, tuple[Probe, str]], release: Release = SPECIFICATION) -> None:
        self._metadata = unstored_metadata(release)
        rows: tuple[tuple[str, Callable[[str], ApiError]], ...] = (("", _unknown), ("1.24", _not_found))
        self._missing = release.choose(rows)
        self._probes = probes
        self.verbs: Mapping[str, Verb] = {"get": self.get, "list": self.list_}

    def _status(self, name: str) -> Object:
        probe, healthy = self._probes[name]
        wrong = probe()
        condition = {"type": "Healthy", "status": "False" if wrong else "True", "message": wrong or healthy}
        return {
            "kind": "ComponentStatus",
            "apiVersion": "v1",
            "metadata": {"name": name, **self._metadata},
            "conditions": [condition],
        }

    async def get(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """One component."""
        view = context.present.view(request, target.resource)
        refuse_export(request)
        if target.name not in self._probes:
            raise self._missing(target.name)
        status = self._status(target.name)
        if view.chosen.as_ == "Table":
            return context.present.response(view, self._table(context, view, [status]))
        return context.present.response(view, context.present.other(view, status))

    async def list_(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """All components that match the selectors."""
        view = context.present.view(request, target.resource)
        chosen = (await context.list_query(request, target)).selection
        statuses = [
            self._status(name) for name in self._probes if chosen.accepts(_Component({}, {"metadata.name": name}))
        ]
        if view.chosen.as_ == "Table":
            return context.present.response(view, self._table(context, view, statuses))
        items = [{k: v for k, v in status.items() if k not in ("kind", "apiVersion")} for status in statuses]
        listed: Object = {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items}
        return context.present.response(view, context.present.other(view, listed))

    def _table(self, context: VerbContext, view: Representation, statuses: list[Object]) -> bytes:
        check_table(view)
        return context.present.encode(view, context.present.table_of(view, statuses, {}))
