"""Verbs of subresources and of kinds that are not stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchd.assembly.access import Access
from orchd.assembly.outbound import Outbound
from orchd.assembly.runtime import Runtime
from orchd.client.disrupted_pods import MARKED_SINCE
from orchd.client.interfaces import IClient, ResourceRef
from orchd.kinds.catalog import Catalog
from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.verbs.dispatch import OF_OBJECT, Verb
from orchd.server.pipeline.verbs.reviews import access, tokens
from orchd.server.pipeline.verbs.reviews.components import Components, Probe
from orchd.server.pipeline.verbs.reviews.posted import review
from orchd.server.pipeline.verbs.reviews.selfreview import self_review
from orchd.server.pipeline.verbs.subresources.binding import Bindings
from orchd.server.pipeline.verbs.subresources.connect import Logs, Streams
from orchd.server.pipeline.verbs.subresources.eviction import Evictions
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext
from orchd.server.pipeline.verbs.subresources.proxy import Proxies
from orchd.server.pipeline.verbs.subresources.scale import Scales
from orchd.server.pipeline.verbs.subresources.token import Tokens, token_request_rules


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbDependencies:
    """Collaborators of the verbs. `client` acts as the server itself, `components` are the probes of componentstatuses
    with the message for healthy ones."""

    runtime: Runtime
    catalog: Catalog
    foreign: ForeignBodyContext
    client: IClient
    access: Access
    outbound: Outbound
    components: Mapping[str, tuple[Probe, str]]


class ClientBudgets:
    """Reads and writes disruption budgets through a client."""

    _BUDGETS = ResourceRef("policy", "v1", "poddisruptionbudgets")

    def __init__(self, client: IClient) -> None:
        self._client = client

    async def list(self, namespace: str) -> list[Object]:
        listed = await self._client.list(self._BUDGETS, namespace)
        budgets: list[Object] = listed["items"]
        return budgets

    async def get(self, namespace: str, name: str) -> Object:
        budget: Object = await self._client.get(self._BUDGETS, namespace, name)
        return budget

    async def update_status(self, budget: Object) -> Object:
        metadata = budget["metadata"]
        written: Object = await self._client.update(
            self._BUDGETS, metadata["namespace"], metadata["name"], budget, subresource="status"
        )
        return written


def named_verbs(parts: VerbDependencies) -> dict[str, Mapping[str, Verb]]:
    """Verbs of subresources and of kinds that are not stored, by the name that rows give in `served_by`
    (`orchd.kinds.rows`)."""
    catalog, foreign, outbound = parts.catalog, parts.foreign, parts.outbound
    authentication, authorizer = parts.access.authentication, parts.access.authorization.union
    settings, random = parts.runtime.settings, parts.runtime.random
    preferred = settings.nodes.address_types
    requests = Tokens(
        catalog, foreign, authentication.issuer, audiences=authentication.audiences,
        most_seconds=int(settings.authentication.service_accounts.max_expiration),
        rules=token_request_rules(settings.release),
    )  # fmt: skip
    streams = Streams(foreign, outbound.nodes.agents, preferred=preferred)
    proxies = Proxies(foreign, outbound.pods, random, agents=outbound.nodes.proxied, preferred=preferred)
    bindings = Bindings(
        catalog,
        foreign,
        copies_labels=settings.release.includes("1.33"),
        clears_nomination=settings.release.includes("1.35"),
    )
    evictions = Evictions(
        catalog, foreign, ClientBudgets(parts.client), announces=settings.release.includes(MARKED_SINCE)
    )
    return {
        "object": OF_OBJECT,
        "scale": Scales(catalog, foreign).verbs,
        "pod binding": {"create": bindings.create},
        "eviction": {"create": evictions.create},
        "token request": {"create": requests.create},
        "log": Logs(outbound.nodes.agents, preferred=preferred).verbs,
        "attach": streams.verbs("attach"),
        "exec": streams.verbs("exec"),
        "port forward": streams.verbs("portforward"),
        "node proxy": proxies.nodes,
        "pod proxy": proxies.pods,
        "service proxy": proxies.services,
        "binding": {"create": bindings.create_legacy},
        "component statuses": Components(parts.components, settings.release).verbs,
        "token review": {"create": review(foreign, tokens.token_review(authentication.bearer))},
        "access review": {"create": review(foreign, access.access_review(authorizer))},
        "self access review": {"create": review(foreign, access.self_access_review(authorizer))},
        "local access review": {"create": review(foreign, access.local_access_review(authorizer))},
        "self subject review": {"create": review(foreign, self_review, echoed=False, stamped=True)},
        "self rules review": {"create": review(foreign, access.self_rules_review(authorizer), echoed=False)},
    }
