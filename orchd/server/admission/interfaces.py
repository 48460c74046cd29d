"""Contracts of admission: policy on writes, a mutating and then a validating chain (docs/decisions.md 3, 7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from twisted.internet.interfaces import IReactorTime
from zope.interface import Attribute, Interface

from orchd.client.interfaces import IClient, IInformers
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Verdict
from orchd.txkit.compute_thread import ComputeThread

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True, kw_only=True)
class Review:
    """One write under review.

    `object` is what would be stored (None for DELETE; the options or body for CONNECT and for subresources of another
    kind), `old_object` what is stored now (None for CREATE). A mutating plugin changes the write by assigning a new
    tree to `object`; objects are shared, so it builds new ones and never edits. Everything else is read-only.
    `kind` is the (group, version, kind) of `object` where it is not the resource's own (Scale, Eviction, Binding).
    """

    operation: str
    resource: Resource
    namespace: str
    name: str
    user: User
    object: dict[str, Any] | None
    old_object: dict[str, Any] | None = None
    subresource: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    kind: tuple[str, str, str] | None = None
    #: Bytes of the object or of the stored one, whichever are more: an estimate of the work.
    size: int = 0
    #: Adds a Warning header to the response.
    warn: Callable[[str], None] = lambda text: None
    #: Adds an audit annotation.
    annotate: Callable[[str, str], None] = lambda key, value: None
    #: Called with the seconds that webhooks took.
    webhook_time: Callable[[float], None] = lambda seconds: None
    #: Set by the mutating chain when a later plugin changed the object after this plugin ran (reinvocation).
    reinvocation: bool = False
    #: Set by a mutating plugin to run the mutating chain again.
    reinvoke: bool = False
    #: State that mutating webhooks keep from one run of the chain to the next.
    rounds: Any = None

    @property
    def written(self) -> dict[str, Any]:
        """The `object` of a CREATE or UPDATE."""
        assert self.object is not None
        return self.object


#: Prefix of the audit annotations that show webhook patches; only for audit levels that include objects.
PATCH_ANNOTATION = "patch.webhook.admission.{abbr}.io/"


class IWebhooks(Protocol):
    """Posts documents to webhooks (`orchd.server.outbound.webhooks`)."""

    async def post(
        self, where: Mapping[str, Any], document: Any, seconds: float, credentials: Any = ...
    ) -> dict[str, Any]: ...


class IAdmissionPlugin(Interface):
    """An admission plugin of either chain. Rejects by raising ApiError (usually `errors.forbidden`).

    A plugin may also have `handles_resource(resource, subresource) -> bool`, which is called once for each resource and
    subresource; `orchd.server.admission.plugin.Plugin` has one. A plugin without it runs for all."""

    name: str = Attribute("As in --enable-admission-plugins.")

    def handles(operation: str) -> bool:
        """True if the plugin runs for `operation`. Called once per operation at start."""


class IMutatingPlugin(IAdmissionPlugin):
    async def admit(review: Review) -> None:
        """May replace `review.object` by a new tree. The new tree may share unchanged parts with it, and no part may be
        modified in place: only new parts are given shape and defaults. Runs in chain order before validation, again
        from the top if the write lost a race. Usually finishes without suspending."""


class IValidatingPlugin(IAdmissionPlugin):
    async def validate(review: Review) -> None:
        """Check the final object; must not change it."""


#: Posts a review to a service; returns the response. Raises WebhookError.
Ask = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookServices:
    """Collaborators of the webhook plugins."""

    #: Calls webhooks.
    client: IWebhooks
    #: Returns a random UUID.
    uid: Callable[[], str]
    #: Converts an object of a resource to the working version, with canonical shape and defaults.
    to_working: Callable[[Resource, dict[str, Any]], dict[str, Any]]
    #: Converts custom objects to the version of a resource, through the conversion webhook if needed. Raises ApiError
    #: 500.
    translate: Callable[[Resource, Sequence[dict[str, Any]]], Awaitable[Sequence[dict[str, Any]]]]
    #: True once the server is ready. Until then webhooks are not called for its own writes.
    serving: Callable[[], bool]
    #: `observe(name, type, operation, seconds, rejected, error type, HTTP status)` after every call.
    observe: Callable[[str, str, str, float, bool, str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """Configuration of a plugin."""

    dialect: Dialect
    #: Effective flags by name.
    flags: Mapping[str, Any]
    #: The plugin's own section of --admission-control-config-file; None without one.
    configuration: Mapping[str, Any] | None = None
    #: The feature gates that are off.
    disabled: frozenset[str] = frozenset()
    release: Release = SPECIFICATION
    #: The part of configured rates that this server grants.
    rate_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginApi:
    """Access of a plugin to the API, as the server itself."""

    client: IClient
    informers: IInformers
    #: Returns the current catalog, to find the resource of a kind.
    catalog: Callable[[], Catalog]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRuntime:
    """Time and randomness."""

    #: Seconds since the epoch.
    wall: Callable[[], float]
    #: For bounded waits (for informers that have not synced); None: reject immediately instead.
    reactor: IReactorTime | None
    #: Returns random characters that are valid at the end of a name.
    random_suffix: Callable[[int], str]
    #: Computes in another thread what takes long.
    compute: ComputeThread = field(default_factory=ComputeThread)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOutbound:
    """Calls to services outside the server."""

    #: `reviewer(file, pause)` makes the client of the service in a client configuration file, which retries after
    #: `pause` seconds. Raises ValueError naming the file.
    reviewer: Callable[[str, float], Ask]
    #: None disables webhook plugins.
    webhooks: WebhookServices | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContext:
    """Collaborators of a plugin, passed once to its factory."""

    settings: PluginSettings
    api: PluginApi
    #: The authorizer, for plugins that check permissions of the user.
    authorize: Callable[[Action], Awaitable[Verdict]]
    runtime: PluginRuntime
    outbound: PluginOutbound
    #: `observe_conditions(errors, seconds, excluded, labels)` after match conditions that do not all hold: how many had
    #: an error before one that is false, whether the write is excluded; name, kind, type and operation.
    observe_conditions: Callable[[int, float, bool, tuple[str, str, str, str]], None] = lambda *observed: None


class IAdmissionPluginFactory(Interface):
    """A named factory of a plugin: built-ins are in an ordered tuple, drop-ins are found in `orchd.plugins`."""

    name: str = Attribute("Unique name.")
    help: str = Attribute("One paragraph for the operator.")

    def make(context: PluginContext) -> IAdmissionPlugin:
        """The plugin. Raises ValueError naming the invalid configuration key."""
