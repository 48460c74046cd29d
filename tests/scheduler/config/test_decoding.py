"""Scheduler configuration files: decoding, errors and printing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import DIALECTS, KUBERNETES, ORCH, Dialect
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.scheduler.config import types
from orchd.scheduler.config.decoding import decode_configuration, default_configuration
from orchd.scheduler.config.encoding import as_json, as_yaml
from orchd.scheduler.config.expansion import expand_all
from orchd.scheduler.config.model import (
    ConfigError,
    ExtenderConfig,
    ExtenderTls,
    ManagedResource,
    NodeResourcesFitArgs,
    ResourceSpec,
    ShapePoint,
    UntypedArgs,
)
from orchd.scheduler.plugins.registry import BUILT_IN
from tests.scheduler.config.config_support import document, read


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        decode_configuration(text.encode(), KUBERNETES)
    return str(caught.value)


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
@pytest.mark.parametrize("version", types.RELEASES)
def test_printed_configuration_round_trips(version: str, dialect: Dialect) -> None:
    """A printed configuration decodes to the same configuration, in all versions and dialects."""
    release = types.RELEASES[version]
    extender = {
        "urlPrefix": "https://x",
        "filterVerb": "f",
        "httpTimeout": "1.5s",
        "managedResources": [{"name": "a/b", "ignoredByScheduler": True}],
        "tlsConfig": {"insecure": True, "caData": "YWJj"},
    }
    given = document(version, dialect, extenders=[extender], leaderElection={"leaseDuration": "100ms"})
    config = read(given, dialect, release)
    assert decode_configuration(as_yaml(config, dialect), dialect, release=release) == config
    assert config.extenders[0].http_timeout == 1.5
    assert config.leader_election.lease_duration == 0.1


def test_defaults_of_an_extender() -> None:
    """No verbs, no credentials; the timeout is that of connections."""
    (config,) = read(document("v1beta3", extenders=[{"urlPrefix": "http://x", "weight": 1}])).extenders
    assert config == ExtenderConfig(
        url_prefix="http://x", filter_verb="", preempt_verb="", prioritize_verb="", weight=1, bind_verb="",
        enable_https=False, tls=None, http_timeout=config.http_timeout, node_cache_capable=False, managed_resources=(),
        ignorable=False,
    )  # fmt: skip
    assert config.http_timeout in (0, 5)
    assert ExtenderConfig(url_prefix="http://x", weight=1, http_timeout=config.http_timeout) == config


def test_credentials_of_extenders() -> None:
    """Each part is read from its own member; data are in base64."""
    files = {"certFile": "/c", "keyFile": "/k", "caFile": "/a", "serverName": "s"}
    data = {"certData": "Yw==", "keyData": "aw==", "caData": "YQ=="}
    extender = {"urlPrefix": "https://x", "filterVerb": "f", "enableHTTPS": True, "tlsConfig": {**files, **data}}
    (config,) = read(document("v1beta3", extenders=[extender])).extenders
    assert config.tls == ExtenderTls(
        cert_file="/c", key_file="/k", ca_file="/a", server_name="s", cert_data=b"c", key_data=b"k", ca_data=b"a"
    )


def test_defaults_match_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """The printed defaults equal the reference's."""
    rows = [row for row in reference("defaults")["component_configs"] if row["id"].startswith(ORCH(types.KIND))]
    for row in rows:
        assert as_json(read(row["sent"], ORCH), ORCH) == row["effective"]
    assert len(rows) == len(SPECIFICATION.choose(types.VERSIONS))


def test_defaults_are_those_of_the_newest_version() -> None:
    """Without a file the defaults of v1beta3 apply, with leader election."""
    config = default_configuration(ORCH)
    assert config == read(document("v1beta3", ORCH), ORCH)
    assert as_json(config, ORCH)["leaderElection"]["resourceName"] == "orch-scheduler"
    assert config.leader_election.elect


def test_each_release_has_its_versions() -> None:
    """Release 1.35 reads v1 alone; the specification's release reads the beta versions."""
    assert default_configuration(ORCH, release=NEWEST) == read(document("v1", ORCH), ORCH, NEWEST)
    for version, release in (("v1", SPECIFICATION), ("v1beta3", NEWEST), ("v1beta2", NEWEST)):
        with pytest.raises(
            ConfigError, match=f'no kind "OrchSchedulerConfiguration" is registered for version ".*/{version}"'
        ):
            read(document(version, ORCH), ORCH, release)


def test_only_v1_configures_the_way_into_the_queue() -> None:
    """The extension point preEnqueue exists in v1, where gates are honored by default."""
    given = {"plugins": {"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}}}
    config = read(document("v1", ORCH, profiles=[given]), ORCH, NEWEST)
    assert [each.name for each in config.profiles[0].plugins["multiPoint"].enabled][:2] == [
        "SchedulingGates",
        "PrioritySort",
    ]
    implemented = {factory.name: factory.points for factory in BUILT_IN}
    (ungated,), (gated,) = (
        expand_all(each, implemented) for each in (config, default_configuration(ORCH, release=NEWEST))
    )
    assert (ungated.points["preEnqueue"], gated.points["preEnqueue"]) == (
        ("DynamicResources",),
        ("SchedulingGates", "DynamicResources"),
    )
    with pytest.raises(ConfigError, match='unknown field "preEnqueue"'):
        read(document("v1beta3", ORCH, profiles=[given]), ORCH)


def test_profiles_are_printed_as_they_are_read() -> None:
    """Enabled plugins with their weights, disabled ones without; a point without plugins is an empty set."""
    score = {"enabled": [{"name": "NodeAffinity", "weight": 7}], "disabled": [{"name": "ImageLocality"}]}
    given = {"schedulerName": "mine", "plugins": {"score": score}}
    (profile,) = as_json(read(document("v1beta3", profiles=[given])), ORCH)["profiles"]
    assert profile["schedulerName"] == "mine"
    assert profile["plugins"]["score"] == {**score, "disabled": [{"name": "ImageLocality", "weight": 0}]}
    assert profile["plugins"]["filter"] == {}


def test_contention_profiling_follows_profiling() -> None:
    """Contention profiling is off by default if profiling is off."""
    assert read(document()).enable_contention_profiling
    assert not read(document(enableProfiling=False)).enable_contention_profiling
    assert read(document(enableProfiling=False, enableContentionProfiling=True)).enable_contention_profiling


def test_only_a_single_profile_gets_a_default_name() -> None:
    """Only a single profile has a default name."""
    assert [p.scheduler_name for p in read(document(profiles=[{}])).profiles] == ["default-scheduler"]
    assert [p.scheduler_name for p in read(document(profiles=[{}, {}])).profiles] == ["", ""]


@pytest.mark.parametrize("field", ["orchconfig", "kubeconfig"])
def test_kubeconfig_field_in_either_dialect(field: str) -> None:
    """The kubeconfig field has the dialect's name or that of stock tools."""
    assert read(document(dialect=ORCH, clientConnection={field: "/f"}), ORCH).client_connection.config_file == "/f"


def test_kubeconfig_field_in_both_dialects_is_refused() -> None:
    """Setting the field under both names is rejected."""
    with pytest.raises(ConfigError, match='duplicate field "orchconfig"'):
        read(document(dialect=ORCH, clientConnection={"orchconfig": "/f", "kubeconfig": "/g"}), ORCH)


def test_arguments_get_defaults() -> None:
    """Given arguments are kept and get defaults for the rest; a weight of 0 becomes 1."""
    args = {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": "x/y"}],
            "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 3}]},
        }
    }
    profile = read(document(profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}])).profiles[0]
    found = profile.plugin_config[0].args
    assert isinstance(found, NodeResourcesFitArgs)
    assert found.scoring_strategy.resources == (ResourceSpec("x/y", 1),)
    assert found.scoring_strategy.shape == (ShapePoint(0, 3),)
    names = [each.name for each in profile.plugin_config]
    assert names[0] == "NodeResourcesFit" and names[1:] == sorted(names[1:])
    assert "VolumeBinding" in names


def test_scoring_strategy_type_default() -> None:
    """The type has a default only if the whole strategy is missing."""
    profile = read(
        document(profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {}}}]}])
    ).profiles[0]
    args = profile.plugin_config[0].args
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.scoring_strategy.type == ""
    assert [each.name for each in args.scoring_strategy.resources] == ["cpu", "memory"]


def test_arguments_of_unknown_plugins_are_kept() -> None:
    """Arguments of drop-in plugins are not decoded."""
    profile = read(document(profiles=[{"pluginConfig": [{"name": "Mine", "args": {"a": [1]}}]}])).profiles[0]
    assert profile.plugin_config[0].args == UntypedArgs({"a": [1]})


REFUSED = {
    "empty": ("", "Object 'Kind' is missing in ''"),
    "no kind": ("a: 1", "Object 'Kind' is missing in 'a: 1'"),
    "no version": ("kind: K", "Object 'apiVersion' is missing in 'kind: K'"),
    "unknown version": (
        HEAD.replace("v1beta3", "v1"),
        'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1" in scheme'
        ' "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
    ),
    "plugin": (
        HEAD.replace("KubeSchedulerConfiguration", "VolumeBinding"),
        'no kind "VolumeBinding" is registered for version "kubescheduler.config.k8s.io/v1beta3" in scheme'
        ' "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
    ),
    "number as it is written": (
        json.dumps(document())[:-1] + ', "parallelism": 1.50}',
        "json: cannot unmarshal number 1.50 into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
    ),
    "version of arguments that is no text": (
        HEAD + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {apiVersion: 1}}]}]",
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: couldn't get version/kind; json parse"
        " error: json: cannot unmarshal number into Go struct field .apiVersion of type string",
    ),
    "arguments of an unknown kind": (
        HEAD + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {kind: Nope}}]}]",
        'decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: no kind "Nope" is registered for version'
        ' "kubescheduler.config.k8s.io/v1beta3" in scheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
    ),
    "arguments of an unknown version": (
        HEAD + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {apiVersion: x/v1}}]}]",
        'decoding .profiles[0].pluginConfig[0]: decoding args for plugin VolumeBinding: no kind "VolumeBindingArgs" is registered'
        ' for version "x/v1" in scheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
    ),
    "another kind": (
        HEAD.replace("KubeSchedulerConfiguration", "Policy"),
        'no kind "Policy" is registered for version "kubescheduler.config.k8s.io/v1beta3" in scheme'
        ' "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
    ),
    "arguments": (
        HEAD.replace("KubeSchedulerConfiguration", "VolumeBindingArgs"),
        "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1beta3, Kind=VolumeBindingArgs: ",
    ),
    "unknown fields": (
        HEAD + "profiles: [{plugin: {}}]\nzzz: 1\nalpha: 2",
        'strict decoding error: unknown field "alpha", unknown field "plugin", unknown field "zzz"',
    ),
    "field of the other version": (HEAD + "healthzBindAddress: x", 'strict decoding error: unknown field "healthzBindAddress"'),
    "repeated in YAML": (
        HEAD + "parallelism: 1\nparallelism: 2",
        'strict decoding error: yaml: unmarshal errors:\n  line 4: key "parallelism" already set in map',
    ),
    "another document": (HEAD + "---\nparallelism: 1", "yaml: line 3: more than one document"),
    "repeated in JSON": (
        json.dumps(document())[:-1] + ', "parallelism": 1, "parallelism": 2}',
        'strict decoding error: duplicate field "parallelism"',
    ),
    "wrong type": (
        HEAD + "parallelism: many",
        "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
    ),
    "wrong type inside": (
        HEAD + "leaderElection: {leaseDuration: 15}",
        "json: cannot unmarshal number into Go struct field LeaderElectionConfiguration.leaderElection.leaseDuration of type string",
    ),
    "arguments of another kind": (
        HEAD + "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {kind: InterPodAffinityArgs}}]}]",
        "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type"
        " DefaultPreemptionArgs.kubescheduler.config.k8s.io, got InterPodAffinityArgs.kubescheduler.config.k8s.io",
    ),
    "arguments of another version": (
        HEAD + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {apiVersion: kubescheduler.config.k8s.io/v1beta2}}]}]",
        "converting .Profiles[0].PluginConfig[0].Args into internal type: no kind is registered for the type"
        " v1beta2.VolumeBindingArgs",
    ),
    "unknown argument": (
        HEAD + "profiles: [{}, {pluginConfig: [{name: VolumeBinding, args: {wait: 1}}]}]",
        "strict decoding error: decoding .profiles[1].pluginConfig[0]: strict decoding error: decoding args for plugin"
        ' VolumeBinding: strict decoding error: unknown field "wait"',
    ),
    "repeated argument in JSON": (
        json.dumps(document(profiles=[{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}]}])).replace(
            '"bindTimeoutSeconds": 1', '"bindTimeoutSeconds": 1, "bindTimeoutSeconds": 1'
        ),
        "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin"
        ' VolumeBinding: strict decoding error: duplicate field "bindTimeoutSeconds"',
    ),
    "wrong type of an argument": (
        HEAD + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: 1}}}]}]",
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: json: cannot unmarshal number into"
        " Go struct field ScoringStrategy.scoringStrategy.type of type v1beta3.ScoringStrategyType",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_configurations_are_refused(case: str) -> None:
    """An invalid file is rejected with the reference's message."""
    text, expected = REFUSED[case]
    assert refusal(text) == expected


def test_text_that_is_neither_json_nor_yaml_is_refused() -> None:
    assert "yaml: " in refusal("a: [")


def test_extenders_are_printed_without_defaults() -> None:
    """Nor are parts of their credentials that are not set."""
    extenders = [
        {"urlPrefix": "http://x", "managedResources": [{"name": "a/b"}], "tlsConfig": {"insecure": True}},
        {"urlPrefix": "http://y", "weight": 2},
    ]
    config = read(document(extenders=extenders))
    assert config.extenders[0].managed_resources == (ManagedResource("a/b", False),)
    first, second = as_json(config, KUBERNETES)["extenders"]
    assert {key: value for key, value in first.items() if key != "httpTimeout"} == extenders[0]
    assert {key: value for key, value in second.items() if key != "httpTimeout"} == extenders[1]


def test_numbers_are_printed_without_needless_digits() -> None:
    for qps, text in ((50, b"qps: 50\n"), (2.5, b"qps: 2.5\n")):
        assert text in as_yaml(read(document(clientConnection={"qps": qps})), KUBERNETES)


@pytest.mark.parametrize(
    ("address", "whole"), [("::1", "[::1]:0"), ("10.0.0.1", "10.0.0.1:0"), (":7", "0.0.0.0:7"), ("x", "x"), ("", "")]
)
def test_addresses_have_a_host_and_a_port(address: str, whole: str) -> None:
    assert read(document("v1beta2", healthzBindAddress=address)).healthz_bind_address == whole
