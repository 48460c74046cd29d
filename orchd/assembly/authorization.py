"""Authorization of one server: the modes of --authorization-mode, or the authorizers of --authorization-config, which
are exchanged while the server runs when the file changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from orchd.assembly.outbound_services import OutboundServices
from orchd.client.interfaces import IInformers
from orchd.config.documents.authorization import WEBHOOK, ConfiguredAuthorizer, WebhookSettings, parse_authorization
from orchd.config.settings import Settings, object_settings
from orchd.kinds.expressions.access import compile_review_condition
from orchd.server.authz import modes
from orchd.server.authz.abac import AttributeBasedAuthorizer
from orchd.server.authz.always import AlwaysAllow, AlwaysDeny
from orchd.server.authz.interfaces import Decision, IAuthorizer
from orchd.server.authz.node import NodeAuthorizer
from orchd.server.authz.privileged import PrivilegedGroups
from orchd.server.authz.rbac import RoleBasedAuthorizer
from orchd.server.authz.selfreview import SelfReviews
from orchd.server.authz.union import AuthorizerUnion, Label
from orchd.server.authz.webhook import WebhookAuthorizer, WebhookOptions
from orchd.txkit.config_file_watcher import ConfigFileWatcher, read_limited

FLAG = "--authorization-config"
_ALWAYS_ALLOW = "AlwaysAllow"


class Authorization:
    """Authorization: `union` authorizes; `rbac` is its RBAC authorizer for escalation checks, None if RBAC is off;
    `file` follows the configuration file, if any. `open_to_all`: all requests are allowed."""

    def __init__(self, settings: Settings, informers: IInformers, outbound: OutboundServices) -> None:
        """Raises ValueError naming the invalid flag, file and field."""
        self._settings, self._informers, self._outbound = settings, informers, outbound
        self.file: ConfigFileWatcher | None = None
        chosen = settings.authorization
        if chosen.config_file:
            self._read(chosen.config_file)
        else:
            self.open_to_all = _ALWAYS_ALLOW in chosen.modes
            self.union = modes.make_union(
                chosen.modes,
                dialect=settings.dialect,
                informers=informers,
                flags=settings.flags,
                configured={"ABAC": self._by_attributes, WEBHOOK: self._by_webhook, "Node": self._by_relations},
                more=modes.drop_ins(),
            )
        self.rbac = next((a for a in self.union.authorizers if isinstance(a, RoleBasedAuthorizer)), None)

    def _by_attributes(self) -> IAuthorizer:
        try:
            return AttributeBasedAuthorizer.read(self._settings.dialect, self._settings.authorization.policy_file)
        except (OSError, ValueError) as error:
            raise ValueError(f"--authorization-policy-file: {error}") from error

    def _by_relations(self) -> IAuthorizer:
        settings = self._settings
        return NodeAuthorizer(settings.dialect, self._informers, settings.release, object_settings(settings).disabled)

    def _by_webhook(self) -> IAuthorizer:
        webhook = self._settings.authorization.webhook
        assert webhook is not None, "the settings have one when the mode is chosen"
        name, metrics = "default", self._outbound.webhook_metrics
        try:
            reviews = self._outbound.reviews(
                webhook.config_file,
                observe=self._outbound.access_reviews,
                evaluated=partial(metrics.observe_call, name),
            )
        except ValueError as error:
            raise ValueError(f"--authorization-webhook-config-file: {error}") from error
        options = WebhookOptions(
            version=webhook.version,
            authorized_ttl=webhook.authorized_ttl,
            unauthorized_ttl=webhook.unauthorized_ttl,
            failed_open=partial(metrics.count_fail_open, name),
            release=self._settings.release,
        )
        return WebhookAuthorizer(self._settings.dialect, reviews, options, clock=self._outbound.reactor.seconds)

    def _read(self, path: str) -> None:
        """Make the authorizers of the file for the first time. Raises ValueError."""
        dialect, outbound = self._settings.dialect, self._outbound
        drop_ins = modes.drop_ins()
        mode_names = (*modes.MODES, *drop_ins)
        policies = self._settings.authorization.policy_file
        try:
            data = read_limited(path)
            configured = parse_authorization(data, dialect, modes=mode_names)
            types = {each.type for each in configured}
            if "ABAC" in types and not policies:
                raise ValueError("an authorizer of type ABAC needs --authorization-policy-file")
            if policies and "ABAC" not in types:
                raise ValueError("--authorization-policy-file needs an authorizer of type ABAC")
            lists = _AuthorizerLists(self._settings, outbound, self._make_static(types, drop_ins))
            authorizers, labels = lists.authorizers(configured)
        except (OSError, ValueError) as error:
            raise ValueError(f"{FLAG}: {path}: {error}") from error
        self.open_to_all = _ALWAYS_ALLOW in types
        self.union = AuthorizerUnion(authorizers, labels)

        async def apply(changed: bytes) -> None:
            self.union.use(*lists.authorizers(parse_authorization(changed, dialect, modes=mode_names), needed=types))

        self.file = ConfigFileWatcher(
            path, data, apply, what="authorization configuration", clock=outbound.reactor, wall=outbound.wall
        )

    def _make_static(self, types: set[str], drop_ins: Mapping[str, Any]) -> dict[str, IAuthorizer]:
        """The authorizers of `types` that stay the same when the file changes: all but webhooks."""
        dialect, informers = self._settings.dialect, self._informers
        makers: dict[str, Callable[[], IAuthorizer]] = {
            _ALWAYS_ALLOW: AlwaysAllow,
            "AlwaysDeny": AlwaysDeny,
            "ABAC": self._by_attributes,
            "RBAC": lambda: RoleBasedAuthorizer(dialect, informers),
            "Node": self._by_relations,
            **{name: partial(factory.make, self._settings.flags) for name, factory in drop_ins.items()},
        }
        return {name: makers[name]() for name in sorted(types - {WEBHOOK})}


class _AuthorizerLists:
    """Makes the list of authorizers of a configuration. `kept` are those that it shares with other configurations."""

    def __init__(self, settings: Settings, outbound: OutboundServices, kept: Mapping[str, IAuthorizer]) -> None:
        self._settings, self._outbound, self._kept = settings, outbound, kept

    def authorizers(
        self, configured: Sequence[ConfiguredAuthorizer], needed: Collection[str] = ()
    ) -> tuple[list[IAuthorizer], list[Label | None]]:
        """The authorizers with their labels. `needed` are the types of the start, of which all but webhooks must still
        be there. Raises ValueError."""
        missing = sorted(set(needed) - {WEBHOOK} - {each.type for each in configured})
        if missing:
            raise ValueError(f"authorizers: missing required types: {missing}")
        authorizers: list[IAuthorizer] = [PrivilegedGroups()]
        labels: list[Label | None] = [None]
        for index, each in enumerate(configured):
            if each.webhook is not None:
                authorizers.append(self._webhook(each.name, each.webhook, index))
            elif each.type in self._kept:
                authorizers.append(self._kept[each.type])
            else:
                why = f"authorizer type {each.type} is not allowed if it was not enabled at initial server startup"
                raise ValueError(f"authorizers[{index}].type: {why}")
            labels.append((each.type, each.name))
        if "RBAC" in self._kept:
            authorizers.append(SelfReviews(self._settings.dialect))
            labels.append(None)
        return authorizers, labels

    def _webhook(self, name: str, chosen: WebhookSettings, index: int) -> IAuthorizer:
        metrics, dialect = self._outbound.webhook_metrics, self._settings.dialect
        try:
            reviews = self._outbound.reviews(
                chosen.config_file, evaluated=partial(metrics.observe_call, name), timeout=chosen.timeout
            )
        except ValueError as error:
            field = f"authorizers[{index}].webhook.connectionInfo.{dialect('{short}ConfigFile')}"
            raise ValueError(f"{field}: {error}") from error
        options = WebhookOptions(
            version=chosen.version,
            authorized_ttl=chosen.authorized_ttl,
            unauthorized_ttl=chosen.unauthorized_ttl,
            on_failure=Decision.DENY if chosen.denies_on_failure else Decision.NO_OPINION,
            failed_open=partial(metrics.count_fail_open, name),
            conditions=tuple(compile_review_condition(text, dialect) for text in chosen.conditions),
            observe_conditions=partial(metrics.observe_conditions, name),
            compute=self._outbound.compute,
            release=self._settings.release,
        )
        return WebhookAuthorizer(dialect, reviews, options, clock=self._outbound.reactor.seconds)
