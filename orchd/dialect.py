"""All names that contain the product word, in both dialects.

A `Dialect` is a value that is chosen at start and passed in; there is no global one. Tables and code write names as
templates and expand them with the dialect::

    dialect("system:{short}-scheduler")        # system:kube-scheduler, system:orch-scheduler
    dialect("{long}.io/metadata.name")         # kubernetes.io/..., orch.io/...
    dialect("rbac.authorization.{abbr}.io")    # rbac.authorization.k8s.io, ...orch.io

API groups end in ``{abbr}.io``; most labels and annotations begin with ``{long}.io``. The default dialect has one word
for all tokens, so that its names cannot be mapped back to templates: names are never translated between dialects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r"\{(long|Long|LONG|abbr|Abbr|short|Short|SHORT)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One spelling of the product word, and the names derived from it.

    `long`, `abbr` and `short` are the three word forms in lower case; `stock`: they are those of stock clients. Call
    the dialect to expand a template.
    """

    name: str
    long: str
    abbr: str
    short: str
    stock: bool = False
    _expanded: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, template: str) -> str:
        """Expand the tokens of `template`. Text without tokens is returned unchanged."""
        if "{" not in template:
            return template
        text = self._expanded.get(template)
        if text is None:
            text = _TOKEN.sub(self._word, template)
            if len(self._expanded) < 4096:
                self._expanded[template] = text
        return text

    def _word(self, match: re.Match[str]) -> str:
        token = match.group(1)
        word: str = getattr(self, token.lower())
        if token.isupper():
            return word.upper()
        return word[0].upper() + word[1:] if token[0].isupper() else word

    @property
    def protobuf(self) -> str:
        """Media type of protobuf bodies."""
        return self("application/vnd.{long}.protobuf")

    @property
    def meta_group(self) -> str:
        """Group of Table, PartialObjectMetadata and their lists."""
        return self("meta.{abbr}.io")

    @property
    def system_namespace(self) -> str:
        return self("{short}-system")

    @property
    def config_file_kind(self) -> str:
        """Name of client configuration files in flags and documents."""
        return self("{short}config")

    @property
    def last_applied(self) -> str:
        """Annotation in which client-side apply stores the last applied configuration."""
        return self("{short}ctl.{long}.io/last-applied-configuration")

    @property
    def autoupdate(self) -> str:
        """Annotation of bootstrap RBAC objects that are reconciled at start."""
        return self("rbac.authorization.{long}.io/autoupdate")


#: First four bytes of every protobuf body, in both dialects.
PROTOBUF_MAGIC = b"k8s\x00"

ORCH = Dialect(name="orch", long="orch", abbr="orch", short="orch")
KUBERNETES = Dialect(name="kubernetes", long="kubernetes", abbr="k8s", short="kube", stock=True)
#: Protobuf media type that stock clients use with any server.
STOCK_PROTOBUF = KUBERNETES.protobuf
#: Group that stock clients use to request tables and metadata from any server.
STOCK_META_GROUP = KUBERNETES.meta_group
#: Group that stock clients use to request aggregated discovery from any server.
STOCK_DISCOVERY_GROUP = KUBERNETES("apidiscovery.{abbr}.io")
#: Annotation by which stock clients recognize the bookmark after the initial state of a watch.
STOCK_INITIAL_EVENTS_END = KUBERNETES("{abbr}.io/initial-events-end")
#: Extension by which stock clients find the schema of an object in any server's OpenAPI document.
STOCK_GVK = KUBERNETES("x-{long}-group-version-kind")
#: Field by which stock tools name a client configuration file in other configurations, whatever server they talk to.
STOCK_CONFIG_FILE_KIND = KUBERNETES.config_file_kind
#: Key of the client configuration in the cluster's public description, which the specification spells so in every
#: dialect.
CLUSTER_INFO_KEY = KUBERNETES.config_file_kind
#: The command line of users, for servers of any dialect.
COMMAND_LINE = ORCH("{short}ctl")
DIALECTS: dict[str, Dialect] = {d.name: d for d in (ORCH, KUBERNETES)}
