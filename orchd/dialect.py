"""Every name that carries the product word, in both dialects.

A `Dialect` is a value: chosen once at start, passed in, never a global. Tables and code elsewhere
write names as templates and expand them with the dialect in force::

    dialect("system:{short}-scheduler")        # system:kube-scheduler, system:orch-scheduler
    dialect("{long}.io/metadata.name")         # kubernetes.io/..., orch.io/...
    dialect("rbac.authorization.{abbr}.io")    # rbac.authorization.k8s.io, ...orch.io

API groups live under ``{abbr}.io``; most labels and annotations under ``{long}.io``. The specification's
default dialect spells all of these with one word, so a name in that dialect cannot be mapped back:
that is why the neutral form is the template and nothing is ever translated from one dialect to the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(r"\{(long|Long|LONG|abbr|Abbr|short|Short|SHORT)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One spelling of the product word and what follows from it.

    `long`, `abbr` and `short` are the three word forms in lower case. Call the dialect to expand a template.
    """

    name: str
    long: str
    abbr: str
    short: str
    _expanded: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, template: str) -> str:
        """Expand the word-form tokens of `template`; text without tokens comes back as it is."""
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
        """What a client configuration file is called: the word that flags and documents use."""
        return self("{short}config")

    @property
    def last_applied(self) -> str:
        """Annotation in which client-side apply keeps what it sent last."""
        return self("{short}ctl.{long}.io/last-applied-configuration")

    @property
    def autoupdate(self) -> str:
        """Annotation of bootstrap RBAC objects that are reconciled at start."""
        return self("rbac.authorization.{long}.io/autoupdate")


#: Every protobuf body starts with these four bytes, in both dialects.
PROTOBUF_MAGIC = b"k8s\x00"

ORCH = Dialect(name="orch", long="orch", abbr="orch", short="orch")
KUBERNETES = Dialect(name="kubernetes", long="kubernetes", abbr="k8s", short="kube")
#: Media type under which stock clients send protobuf, whatever server they talk to.
STOCK_PROTOBUF = KUBERNETES.protobuf
#: Group under which stock clients ask for tables and metadata alone, whatever server they talk to.
STOCK_META_GROUP = KUBERNETES.meta_group
#: Extension by which stock clients find an object's schema, whatever server they talk to.
STOCK_GVK = KUBERNETES("x-{long}-group-version-kind")
#: Field by which stock tools name a client configuration file in other configurations, whatever server they talk to.
STOCK_CONFIG_FILE_KIND = KUBERNETES.config_file_kind
#: The command line of users, for servers of any dialect.
COMMAND_LINE = ORCH("{short}ctl")
DIALECTS: dict[str, Dialect] = {d.name: d for d in (ORCH, KUBERNETES)}
