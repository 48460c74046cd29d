"""The API groups in discovery order and where their types are."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """A version of a group, served by default unless `default` is False, in the releases from `since` until `until`."""

    name: str
    default: bool = True
    since: str = ""
    until: str = ""

_V1: Final = GroupVersion("v1")

#: Groups and their versions, both in discovery order; the first version that is served is preferred.
GROUPS: Final[tuple[tuple[str, tuple[GroupVersion, ...]], ...]] = (
    ("", (_V1,)),
    ("apiregistration.{abbr}.io", (_V1,)),
    ("apps", (_V1,)),
    ("events.{abbr}.io", (_V1, GroupVersion("v1beta1", until="1.25"))),
    ("authentication.{abbr}.io", (_V1,)),
    ("authorization.{abbr}.io", (_V1,)),
    ("autoscaling", (GroupVersion("v2"), _V1, GroupVersion("v2beta1", until="1.25"), GroupVersion("v2beta2", until="1.26"))),
    ("batch", (_V1, GroupVersion("v1beta1", until="1.25"))),
    ("certificates.{abbr}.io", (_V1,)),
    ("networking.{abbr}.io", (_V1,)),
    ("policy", (_V1, GroupVersion("v1beta1", until="1.25"))),
    ("rbac.authorization.{abbr}.io", (_V1,)),
    ("storage.{abbr}.io", (_V1, GroupVersion("v1beta1", until="1.27"), GroupVersion("v1alpha1", False, until="1.24"))),
    ("admissionregistration.{abbr}.io", (_V1, GroupVersion("v1beta1", False, until="1.24"))),
    ("apiextensions.{abbr}.io", (_V1, GroupVersion("v1beta1", False, until="1.24"))),
    ("scheduling.{abbr}.io", (_V1,)),
    ("coordination.{abbr}.io", (_V1,)),
    ("node.{abbr}.io", (_V1, GroupVersion("v1beta1", until="1.25"), GroupVersion("v1alpha1", False, until="1.24"))),
    ("discovery.{abbr}.io", (_V1, GroupVersion("v1beta1", until="1.25"))),
    ("resource.{abbr}.io", (GroupVersion("v1", since="1.34"),)),
    (
        "flowcontrol.apiserver.{abbr}.io",
        (
            GroupVersion("v1", since="1.29"),
            GroupVersion("v1beta2", until="1.29"),
            GroupVersion("v1beta1", until="1.26"),
        ),
    ),
    ("internal.apiserver.{abbr}.io", (GroupVersion("v1alpha1", False),)),
)

#: Packages with resources (``LATER`` of their modules) that are served before the release that introduced them, to newer clients
#: that ask for them.
LATER: Final = ("authentication/v1", "authentication/v1beta1", "authentication/v1alpha1")

#: package/version of the type names -> builtin module
MODULES: Final[dict[str, str]] = {
    name: name.replace("/", "_")
    for name in (
        "admission/v1 admission/v1beta1 admissionregistration/v1 admissionregistration/v1beta1 apidiscovery/v2 "
        "apiextensions/v1 apiextensions/v1beta1 apiregistration/v1 apiserverinternal/v1alpha1 apps/v1 audit/v1 "
        "authentication/v1 authentication/v1alpha1 authentication/v1beta1 authorization/v1 authorization/v1beta1 "
        "autoscaling/v1 autoscaling/v2 autoscaling/v2beta1 autoscaling/v2beta2 batch/v1 batch/v1beta1 certificates/v1 "
        "coordination/v1 core/v1 discovery/v1 discovery/v1beta1 events/v1 events/v1beta1 flowcontrol/v1 "
        "flowcontrol/v1beta1 flowcontrol/v1beta2 imagepolicy/v1alpha1 meta/v1 meta/v1beta1 networking/v1 node/v1 "
        "node/v1alpha1 node/v1beta1 policy/v1 policy/v1beta1 rbac/v1 resource/v1 scheduling/v1 storage/v1 "
        "storage/v1alpha1 storage/v1beta1 version"
    ).split()
}
