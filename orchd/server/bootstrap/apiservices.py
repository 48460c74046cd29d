"""Priorities of the built-in API groups (APIService.spec); facts of releases 1.23 and 1.35."""

from __future__ import annotations

from typing import Final

from orchd.dialect import Dialect

#: (group template, version) -> (groupPriorityMinimum, versionPriority)
PRIORITIES: Final[dict[tuple[str, str], tuple[int, int]]] = {
    ("", "v1"): (18000, 1),
    ("admissionregistration.{abbr}.io", "v1"): (16700, 15),
    ("apiextensions.{abbr}.io", "v1"): (16700, 15),
    ("apps", "v1"): (17800, 15),
    ("authentication.{abbr}.io", "v1"): (17700, 15),
    ("authorization.{abbr}.io", "v1"): (17600, 15),
    ("autoscaling", "v1"): (17500, 15),
    ("batch", "v1"): (17400, 15),
    ("certificates.{abbr}.io", "v1"): (17300, 15),
    ("coordination.{abbr}.io", "v1"): (16500, 15),
    ("discovery.{abbr}.io", "v1"): (16200, 15),
    ("events.{abbr}.io", "v1"): (17750, 15),
    ("networking.{abbr}.io", "v1"): (17200, 15),
    ("node.{abbr}.io", "v1"): (16300, 15),
    ("policy", "v1"): (17100, 15),
    ("rbac.authorization.{abbr}.io", "v1"): (17000, 15),
    ("scheduling.{abbr}.io", "v1"): (16600, 15),
    ("storage.{abbr}.io", "v1"): (16800, 15),
    ("admissionregistration.{abbr}.io", "v1beta1"): (16700, 12),
    ("batch", "v1beta1"): (17400, 9),
    ("discovery.{abbr}.io", "v1beta1"): (16200, 12),
    ("events.{abbr}.io", "v1beta1"): (17750, 5),
    ("flowcontrol.apiserver.{abbr}.io", "v1beta1"): (16100, 12),
    ("node.{abbr}.io", "v1beta1"): (16300, 9),
    ("policy", "v1beta1"): (17100, 9),
    ("storage.{abbr}.io", "v1beta1"): (16800, 9),
    ("flowcontrol.apiserver.{abbr}.io", "v1beta2"): (16100, 15),
    ("flowcontrol.apiserver.{abbr}.io", "v1"): (16100, 21),
    ("resource.{abbr}.io", "v1"): (16200, 21),
    ("autoscaling", "v2"): (17500, 30),
    ("autoscaling", "v2beta1"): (17500, 9),
    ("autoscaling", "v2beta2"): (17500, 1),
}


def api_priorities(dialect: Dialect) -> dict[tuple[str, str], tuple[int, int]]:
    """The priorities of built-in groups and versions in discovery: those of their APIServices. The group of APIServices
    itself is the first of the named ones."""
    own = {(dialect("apiregistration.{abbr}.io"), "v1"): (20001, 0)}
    return {(dialect(name), version): value for (name, version), value in PRIORITIES.items()} | own
