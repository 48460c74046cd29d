"""Labels of EndpointSlices: their service, and the controller that manages them."""

from __future__ import annotations

from collections.abc import Iterator

from orchd.dialect import Dialect
from orchd.kinds.fields import labels, namespace
from orchd.kinds.jsonvalues import Object


class SliceLabels:
    """The labels of slices of one controller."""

    def __init__(self, dialect: Dialect, manager: str) -> None:
        """`manager` is a template of the dialect."""
        self._service = dialect("{long}.io/service-name")
        self._manager = dialect("endpointslice.{long}.io/managed-by"), dialect(manager)

    def for_service(self, name: str) -> dict[str, str]:
        """The labels of a new slice of a service."""
        return {self._service: name, self._manager[0]: self._manager[1]}

    def index(self, slice_: Object) -> tuple[str, ...]:
        """``NAMESPACE/NAME`` of the service of a slice; nothing for a slice of another controller."""
        if labels(slice_).get(self._manager[0]) != self._manager[1]:
            return ()
        return (f"{namespace(slice_)}/{labels(slice_).get(self._service, '')}",)

    def services(self, *slices: Object | None) -> Iterator[tuple[str, str]]:
        """Namespace and name of the services of slices of the controller; None is no slice."""
        for each in slices:
            for value in () if each is None else self.index(each):
                within, _, name = value.partition("/")
                yield within, name
