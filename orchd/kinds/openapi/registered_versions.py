"""The group versions that options and watch events may have; facts of the releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchd.kinds.catalog import Catalog

#: (group, its versions), removed and internal ones included: clients of old versions send DeleteOptions in theirs.
_REGISTERED: Final = (
    ("", "v1"),
    ("admission.{abbr}.io", "v1 v1beta1"),
    ("admissionregistration.{abbr}.io", "v1 v1beta1"),
    ("apiextensions.{abbr}.io", "v1 v1beta1"),
    ("apiregistration.{abbr}.io", "v1 v1beta1"),
    ("apps", "v1 v1beta1 v1beta2"),
    ("authentication.{abbr}.io", "v1 v1beta1"),
    ("authorization.{abbr}.io", "v1 v1beta1"),
    ("autoscaling", "v1 v2 v2beta1 v2beta2"),
    ("batch", "v1 v1beta1"),
    ("certificates.{abbr}.io", "v1 v1beta1"),
    ("coordination.{abbr}.io", "v1 v1beta1"),
    ("discovery.{abbr}.io", "v1 v1beta1"),
    ("events.{abbr}.io", "v1 v1beta1"),
    ("extensions", "v1beta1"),
    ("flowcontrol.apiserver.{abbr}.io", "v1alpha1 v1beta1 v1beta2"),
    ("imagepolicy.{abbr}.io", "v1alpha1"),
    ("internal.apiserver.{abbr}.io", "v1alpha1"),
    ("networking.{abbr}.io", "v1 v1beta1"),
    ("node.{abbr}.io", "v1 v1alpha1 v1beta1"),
    ("policy", "v1 v1beta1"),
    ("rbac.authorization.{abbr}.io", "v1 v1alpha1 v1beta1"),
    ("scheduling.{abbr}.io", "v1 v1alpha1 v1beta1"),
    ("storage.{abbr}.io", "v1 v1alpha1 v1beta1"),
)


#: Groups whose versions differ in later releases.
_LATER: Final = {
    "admissionregistration.{abbr}.io": "v1 v1alpha1 v1beta1",
    "authentication.{abbr}.io": "v1 v1alpha1 v1beta1",
    "certificates.{abbr}.io": "v1 v1alpha1 v1beta1",
    "coordination.{abbr}.io": "v1 v1alpha2 v1beta1",
    "flowcontrol.apiserver.{abbr}.io": "v1 v1beta1 v1beta2 v1beta3",
    "resource.{abbr}.io": "v1 v1alpha3 v1beta1 v1beta2",
    "storagemigration.{abbr}.io": "v1beta1",
}
_BY_RELEASE: Final = (("", dict(_REGISTERED)), ("1.35", {**dict(_REGISTERED), **_LATER}))


def registered_versions(catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Every (group, version), sorted by group."""
    for group, versions in sorted(catalog.release.choose(_BY_RELEASE).items()):
        for version in versions.split():
            yield catalog.dialect(group), version
