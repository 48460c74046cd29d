"""The group versions that options and watch events may have; facts of release 1.23."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchd.dialect import Dialect

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


def registered_versions(dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Every (group, version)."""
    for group, versions in _REGISTERED:
        for version in versions.split():
            yield dialect(group), version
