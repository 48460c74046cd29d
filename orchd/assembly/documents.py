"""The documents of one server: discovery and OpenAPI, built from the current catalog."""

from __future__ import annotations

from functools import partial

from orchd.assembly.aggregation import Aggregation
from orchd.assembly.runtime import Runtime
from orchd.server.bootstrap.apiservices import api_priorities
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.pipeline.endpoints.aggregated import AggregatedDocuments
from orchd.server.pipeline.endpoints.documents import Documents
from orchd.server.pipeline.endpoints.schemas import Schemas
from orchd.server.pipeline.endpoints.specification import Specification
from orchd.server.pipeline.representation import Presenter
from orchd.txkit.services import Member, as_member


class ApiDocuments:
    """`discovery` has the discovery documents, `specification` the OpenAPI v2 document, `schemas` the OpenAPI v3
    documents (None if the feature gate OpenAPIV3 is off)."""

    def __init__(
        self,
        runtime: Runtime,
        definitions: DefinitionTracker,
        aggregation: Aggregation,
        presenter: Presenter,
        address: str,
    ) -> None:
        """`address` is the advertised host and port of the server."""
        self.discovery = Documents(
            definitions.current,
            presenter,
            server_address=address,
            foreign=aggregation.groups,
            aggregated=AggregatedDocuments(
                definitions.current, presenter, api_priorities(runtime.dialect), aggregation.discovered
            ),
            hashes=runtime.objects.feature("StorageVersionHash"),
        )
        foreign = aggregation.specifications
        self.specification = Specification(
            definitions.current,
            in_thread=runtime.in_thread,
            clock=runtime.reactor,
            foreign=foreign.all,
            release=runtime.objects.release,
        )
        foreign.changed = self.specification.build.changed
        self.schemas: Schemas | None = None
        if runtime.objects.feature("OpenAPIV3"):
            self.schemas = Schemas(
                definitions.current,
                in_thread=runtime.in_thread,
                clock=runtime.reactor,
                wall=runtime.wall,
                always=runtime.objects.features.get("OpenAPIV3", False),
                release=runtime.objects.release,
                foreign=aggregation.discovered,
            )

    def members(self) -> list[Member]:
        """The builds of OpenAPI documents."""
        built = self.specification.build
        members = [as_member("OpenAPI document", built.start, built.stop)]
        if self.schemas is not None:
            later = self.schemas.build
            members.append(as_member("OpenAPI v3 documents", partial(later.start, eager=False), later.stop))
        return members

    def renew(self) -> None:
        """Build the OpenAPI documents of another catalog."""
        self.specification.build.changed()
        if self.schemas is not None:
            self.schemas.build.changed()
