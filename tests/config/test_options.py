"""Flags from the command line and from files."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest
from twisted.python.usage import UsageError

from orchd.config.capabilities import Capabilities
from orchd.config.options import Options, TwistdOptions, from_mapping, from_options
from orchd.config.settings import object_settings
from orchd.config.table import table
from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.gates import GATES
from orchd.kinds.release import NEWEST, SPECIFICATION


def parse(*argv: str, files: dict[str, str] | None = None, **keywords: Any) -> Options:
    def read(path: str) -> str:
        if files is None or path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return files[path]

    options = Options(read_file=read, **keywords)
    options.parseOptions(argv)
    return options


def error_of(*argv: str, **keywords: Any) -> str:
    with pytest.raises(UsageError) as caught:
        parse(*argv, **keywords)
    return str(caught.value)


def test_spellings_of_a_flag() -> None:
    """--name=value, --name value, bare booleans, --bool=false and -v=N all work."""
    options = parse(
        "--secure-port=1", "--bind-address", "127.0.0.1", "--anonymous-auth=false", "--permit-port-sharing", "-v", "3"
    )
    assert options["secure-port"] == 1
    assert str(options["bind-address"]) == "127.0.0.1"
    assert options["anonymous-auth"] is False
    assert options["permit-port-sharing"] is True
    assert from_options(options).verbosity.default == 3


def test_flag_file() -> None:
    """A flag file has one flag per line; later values override, and a list on the command line replaces that of the
    file."""
    text = "# a comment\n\n--secure-port=1\nanonymous-auth=false\n--max-requests-inflight 7\n--api-audiences=a\n--api-audiences=b\n"
    options = parse("--flagfile=F", "--secure-port=2", files={"F": text})
    assert options["secure-port"] == 2
    assert options["anonymous-auth"] is False
    assert options["max-requests-inflight"] == 7
    assert options["api-audiences"] == ("a", "b")
    options = parse("--secure-port=2", "--flagfile=F", "--api-audiences=c", files={"F": text})
    assert options["secure-port"] == 1
    assert options["api-audiences"] == ("c",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n--secure-prt=1", 'F:2: unknown flag "--secure-prt": did you mean "--secure-port"?'),
        ("--secure-port=x", "F:1: --secure-port: 'x' is not a whole number"),
        ("--anonymous-auth false", "F:1: --anonymous-auth: takes no separate value: write --anonymous-auth=false"),
        ("--secure-port", "F:1: --secure-port: needs a value"),
        ("--flagfile=G", "F:1: --flagfile: cannot read G: No such file or directory"),
    ],
)
def test_flag_file_errors(text: str, message: str) -> None:
    """An error in a flag file names the file and the line."""
    assert error_of("--flagfile=F", files={"F": text}) == message


def test_flag_file_recursion() -> None:
    """A flag file that includes itself is an error."""
    assert "nested more than" in error_of("--flagfile=F", files={"F": "--flagfile=F"})


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--securee-port=1"], 'unknown flag "--securee-port": did you mean "--secure-port"?'),
        (
            ["--cluster-name=x"],
            "--cluster-name: can have no effect: there is no cloud provider; only the default 'orch' is accepted",
        ),
        (
            ["--authorization-mode=ABAC"],
            "--authorization-mode: authorization-mode ABAC's authorization policy file not passed",
        ),
        (
            ["--authorization-mode=Node,Webhook"],
            "--authorization-mode: authorization-mode Webhook's authorization config file not passed",
        ),
        (
            ["--authorization-policy-file=p"],
            "--authorization-policy-file: cannot specify --authorization-policy-file without mode ABAC",
        ),
        (
            ["--authorization-webhook-config-file=c"],
            "--authorization-webhook-config-file: cannot specify --authorization-webhook-config-file without mode Webhook",
        ),
        (["--oidc-client-id=c"], "--oidc-issuer-url: oidc-issuer-url and oidc-client-id should be specified together"),
        (
            ["--oidc-issuer-url=http://i", "--oidc-client-id=c"],
            "--oidc-issuer-url: 'oidc-issuer-url' (\"http://i\") has invalid scheme (\"http\"), require 'https'",
        ),
        (
            ["--oidc-issuer-url=https://me:secret@i/a", "--oidc-client-id=c"],
            "--oidc-issuer-url: https://me:***@i/a: URL must not contain a username or password",
        ),
        (
            ["--etcd-servers=http://me:secret@h:99999"],
            "--etcd-servers: 'http://me:***@h:99999' is not http://host:port, https://host:port or unix:///path",
        ),
        (
            ["--oidc-issuer-url=https://i", "--oidc-client-id=c", "--oidc-username-claim="],
            "--oidc-username-claim: no username claim provided",
        ),
        (
            ["--oidc-issuer-url=https://i", "--oidc-client-id=c", "--oidc-signing-algs=RS256,HS256"],
            '--oidc-signing-algs: oidc: unsupported signing alg: "HS256"',
        ),
        (["--oidc-required-claim=hd"], "--oidc-required-claim: 'hd' is not key=value"),
        (
            ['--requestheader-group-headers=" "'],
            '--requestheader-group-headers: empty value in "requestheader-group-headers"',
        ),
        (
            ["--authentication-token-webhook-version=v2"],
            "--authentication-token-webhook-version: unknown value 'v2': one of v1beta1, v1; did you mean 'v1'?",
        ),
        (["--authorization-mode=RBACC"], '--authorization-mode: unknown mode "RBACC": did you mean "RBAC"?'),
        (["--authorization-mode="], "--authorization-mode: at least one authorization-mode must be passed"),
        (
            ["--authorization-mode=RBAC,RBAC"],
            '--authorization-mode: authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
        ),
        (["--controllers=cloud-node-lifecycle"], "--controllers: controller cloud-node-lifecycle: not built yet"),
        (["--controllers=-deploymen"], '--controllers: unknown controller "deploymen": did you mean "deployment"?'),
        (
            ["--feature-gates=PodSecurty=true"],
            '--feature-gates: unrecognized feature gate: PodSecurty (did you mean "PodSecurity"?)',
        ),
        (
            ["--feature-gates=APIServerTracing=false", "--tracing-config-file=x"],
            "--tracing-config-file: the feature gate APIServerTracing is off",
        ),
        (
            ["--feature-gates=WatchBookmark=false"],
            "--feature-gates: cannot set feature gate WatchBookmark to false, feature is locked to true",
        ),
        (["--runtime-config=apps/v2=true"], '--runtime-config: unknown API version "apps/v2": did you mean "apps/v1"?'),
        (
            ["--runtime-config=apps/v1/deployment=true"],
            '--runtime-config: unknown resource of apps/v1 "deployment": did you mean "deployments"?',
        ),
        (["--tls-cert-file=a"], "--tls-private-key-file: is needed together with --tls-cert-file"),
        (["--proxy-client-key-file=a"], "--proxy-client-cert-file: is needed together with --proxy-client-key-file"),
        (
            ["--orchlet-client-certificate=a"],
            "--orchlet-client-key: is needed together with --orchlet-client-certificate",
        ),
        (
            ["--orchlet-preferred-address-types=Home"],
            "--orchlet-preferred-address-types: 'Home' is not one of Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP",
        ),
        (
            ["--tls-min-version=TLS12"],
            "--tls-min-version: unknown value 'TLS12': one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13; did you mean 'VersionTLS12'?",
        ),
        (
            ["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SH"],
            '--tls-cipher-suites: unknown cipher suite "TLS_RSA_WITH_AES_128_CBC_SH": did you mean "TLS_RSA_WITH_AES_128_CBC_SHA"?',
        ),
        (
            ["--service-account-signing-key-file=k"],
            "--service-account-issuer: is needed together with --service-account-signing-key-file",
        ),
        (
            ["--service-cluster-ip-range=10.0.0.0/8"],
            "--service-cluster-ip-range: 10.0.0.0/8 is too large: the mask must be at least /12",
        ),
        (
            ["--service-cluster-ip-range=10.0.0.0/11"],
            "--service-cluster-ip-range: 10.0.0.0/11 is too large: the mask must be at least /12",
        ),
        (
            ["--service-cluster-ip-range=10.0.0.0/30"],
            "--service-cluster-ip-range: 10.0.0.0/30 is too small: it must have at least 8 addresses",
        ),
        (["--enable-admission-plugins=X"], '--enable-admission-plugins: unknown plugin "X"'),
        (
            ["--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"],
            "--disable-admission-plugins: plugin Priority is also in --enable-admission-plugins",
        ),
        (["--storage-backend=etcd3"], "--etcd-servers: is needed together with --storage-backend=etcd3"),
        (["--processes=0"], "--processes: '0' is not a number from 1 to 256, or auto"),
        (["--processes=two"], "--processes: 'two' is not a number from 1 to 256, or auto"),
        (["--processes=257"], "--processes: '257' is not a number from 1 to 256, or auto"),
        (["--goaway-chance=0.03"], "--goaway-chance: must be between 0 and 0.02"),
        (
            ["--admission-control=Priority", "--enable-admission-plugins=Priority"],
            "--admission-control: excludes --enable-admission-plugins and --disable-admission-plugins",
        ),
        (["--admission-control=X"], '--admission-control: unknown plugin "X"'),
        (["--apiserver-count=0"], "--apiserver-count: must be at least 1"),
        (
            ["--endpoint-reconciler-type=leases"],
            "--endpoint-reconciler-type: unknown value 'leases': one of lease, master-count, none; did you mean 'lease'?",
        ),
        (["--max-connection-bytes-per-sec=-1"], "--max-connection-bytes-per-sec: must be at least 0"),
        (["--dialect=kubernetes", "--kubelet-timeout=0s"], "--kubelet-timeout: must be above 0"),
        (
            ["--etcd-servers-overrides=/events#http://h:1"],
            "--etcd-servers-overrides: can have no effect: all resources share the revisions of one store; only the default '' is accepted",
        ),
        (["--watch-cache=false"], "--watch-cache: cannot be disabled: reads are served from it"),
        (
            ["--default-watch-cache-size=0"],
            "--default-watch-cache-size: must be at least 1: the cache cannot be disabled",
        ),
        (
            ["--watch-cache-sizes=pods#100,nodes#0"],
            "--watch-cache-sizes: 'nodes#0' is not resource[.group]#size with a size above 0",
        ),
        (
            ["--max-requests-inflight=0", "--max-mutating-requests-inflight=0"],
            "--max-requests-inflight: the total concurrency is 0: needs --enable-priority-and-fairness=false",
        ),
        (["extra"], "unexpected argument 'extra': flags are given as --name=value"),
        (["--secure-port"], "--secure-port: needs a value"),
    ],
)
def test_invalid_flags_are_named(argv: list[str], message: str) -> None:
    """A flag that cannot take effect as given is an error that names it."""
    assert error_of(*argv) == message


def test_default_of_a_flag_without_effect_is_accepted() -> None:
    """A flag that can have no effect may still be given its default."""
    assert parse("--etcd-servers-overrides=", "--cluster-name=orch")["cluster-name"] == "orch"
    assert "can have no effect: there is no cloud provider" in error_of("--cluster-name=other")


def test_names_in_either_dialect_are_accepted() -> None:
    """Names with the product word are accepted as the default dialect and as the chosen one spell them."""
    template = "{long}-service-node-port"
    for dialect in (ORCH, KUBERNETES):
        options = parse(f"--dialect={KUBERNETES.name}", f"--{dialect(template)}=30001")
        assert options.by_name[template] == 30001
        assert from_options(options).dialect is KUBERNETES
    assert "not a flag of this dialect" in error_of(f"--{KUBERNETES(template)}=30001")


@pytest.mark.parametrize("text", ["10.0.0.0/12", "10.0.0.0/29", "fd00::/64", "fd00::/125", "10.0.0.0/12,fd00::/108"])
def test_service_ranges_of_these_sizes_are_accepted(text: str) -> None:
    """A service range has at least 8 addresses, and one of IPv4 at most 2^20; there may be one of each family."""
    settings = from_options(parse(f"--service-cluster-ip-range={text}"))
    assert settings.api.service_cluster_ip_range == tuple(ip_network(each) for each in text.split(","))


def test_default_settings() -> None:
    """By default the server uses RBAC, TLS 1.2 and one data folder, and connects to nothing else."""
    settings = from_options(Options())
    assert settings.authorization.modes == ("RBAC",)
    assert settings.serving.min_tls == "VersionTLS12"
    assert settings.serving.cert_dir == settings.storage.data_dir + "/pki"
    assert settings.api.service_cluster_ip_range == (ip_network("10.0.0.0/24"),)
    assert settings.authentication.service_accounts.issuers == (ORCH("https://{long}.default.svc"),)
    assert "NamespaceLifecycle" in settings.admission.plugins
    assert "NodeRestriction" not in settings.admission.plugins


def test_controllers_flag() -> None:
    """ "*" enables all controllers that are on by default; -name disables one; -* disables all."""
    can = Capabilities(controllers=frozenset(("namespace", "job", "tokencleaner")))

    def names(*argv: str) -> tuple[str, ...]:
        return from_options(parse(*argv, capabilities=can)).controllers.names

    assert names() == ("job", "namespace")
    assert names("--controllers=-*") == ()
    assert names("--controllers=*,-job,tokencleaner") == ("namespace", "tokencleaner")
    assert names("--controllers=job") == ("job",)
    can = Capabilities(controllers=frozenset(("namespace", "garbagecollector")))
    assert names("--enable-garbage-collector=false") == ("namespace",)


def test_admission_order() -> None:
    """Plugins run in the reference's order, whatever the flag's order; drop-ins run after them."""
    can = Capabilities(admission_plugins=frozenset(("Priority", "NodeRestriction", "LimitRanger", "Zebra")))
    options = parse(
        "--enable-admission-plugins=Zebra,NodeRestriction", "--disable-admission-plugins=Priority", capabilities=can
    )
    assert from_options(options).admission.plugins == ("LimitRanger", "NodeRestriction", "Zebra")


def test_runtime_config() -> None:
    """A version's own key takes precedence over api/all and its like, and a resource's key over its version's."""
    off = "--enable-priority-and-fairness=false"
    runtime = from_options(parse(off, "--runtime-config=api/all=false,apps/v1=true,v1,batch/v1/jobs=true")).api.runtime
    assert runtime.enabled("apps", "v1", True) and runtime.enabled("", "v1", True)
    assert not runtime.enabled("policy", "v1", True)
    assert runtime.enabled("batch", "v1", True)
    assert runtime.resource_enabled("batch", "v1", "jobs", True)
    assert not runtime.resource_enabled("batch", "v1", "cronjobs", True)
    runtime = from_options(parse(off, "--runtime-config=api/beta=false,api/alpha=true")).api.runtime
    assert not runtime.enabled("batch", "v1beta1", True)
    assert runtime.enabled("batch", "v1", True)
    assert runtime.enabled(ORCH("storage.{abbr}.io"), "v1alpha1", False)
    catalog = builtin_catalog(ORCH, enabled=from_options(parse("--runtime-config=api/all=true")).api.runtime.enabled)
    assert catalog.resource(ORCH("storage.{abbr}.io"), "v1alpha1", "csistoragecapacities") is not None


GROUP_OF_FLOWS = ORCH("flowcontrol.apiserver.{abbr}.io")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("api/all=false", "invalid key with only api/all=false"),
        ("api/beta=1", '"api/beta=1": the value must be true or false'),
        ("api/beta", '"api/beta=": the value must be true or false'),
        ("apps/v1=yes", '"apps/v1=yes": the value must be true or false'),
        ("apps/v9=false", 'unknown API version "apps/v9": did you mean "apps/v1"?'),
        ("apps/v1/a/b=true", 'unknown API version "apps/v1/a/b": did you mean "apps/v1"?'),
        ("api/beta=false", "api/beta=false conflicts with --enable-priority-and-fairness=true"),
        ("api/all=false,v1=true", "api/all=false conflicts with --enable-priority-and-fairness=true"),
        (f"{GROUP_OF_FLOWS}/v1beta1=false,api/beta=true", f"{GROUP_OF_FLOWS}/v1beta1=false conflicts with"),
    ],
)
def test_unusable_runtime_config(value: str, message: str) -> None:
    """A key or value that is unknown, and one that contradicts another flag, is one line that names it."""
    assert error_of(f"--runtime-config={value}").startswith(f"--runtime-config: {message}")


@pytest.mark.parametrize(
    ("key", "other"), [("api/beta", "api/ga"), (f"{GROUP_OF_FLOWS}/v1beta2", f"{GROUP_OF_FLOWS}/v1")]
)
def test_flow_control_needs_its_version_of_the_release(key: str, other: str) -> None:
    """Release 1.23 uses a beta version of flow control objects itself, release 1.35 version v1 alone."""
    text = "conflicts with --enable-priority-and-fairness=true"
    old = f"--runtime-config: {key}=false {text} and --feature-gates=APIPriorityAndFairness=true"
    assert error_of("--emulated-version=1.23", f"--runtime-config={key}=false") == old
    release = "--emulated-version=1.35"
    assert parse(release, f"--runtime-config={key}=false") is not None
    assert error_of(release, f"--runtime-config={other}=false") == f"--runtime-config: {other}=false {text}"
    assert parse(release, "--enable-priority-and-fairness=false", f"--runtime-config={other}=false") is not None


def test_versions_that_are_not_built_are_refused() -> None:
    """Release 1.35 has versions that it does not serve by default: to enable one says so, to disable it has no
    effect."""
    for key in (
        "admissionregistration.{abbr}.io/v1beta1",
        "authentication.{abbr}.io/v1beta1",
        "networking.{abbr}.io/v1beta1",
    ):
        name, release = ORCH(key), "--emulated-version=1.35"
        text = f"--runtime-config: {name} is not served by default in release 1.35, and not built here"
        assert error_of(release, f"--runtime-config={name}=true") == text
        assert parse(release, f"--runtime-config={name}=false") is not None


@pytest.mark.parametrize("on", ["true", "false", "1", "F", ""])
@pytest.mark.parametrize(
    "key",
    [
        "apps/v1beta1", "extensions/v1beta1", "extensions/v1beta1/ingresses", "api/legacy",
        *(ORCH(f"{group}.{{abbr}}.io/{version}") for group, version in (
            ("authentication", "v1beta1"), ("authorization", "v1beta1"), ("imagepolicy", "v1alpha1"),
            ("rbac.authorization", "v1beta1"), ("networking", "v1beta1"), ("scheduling", "v1alpha1"), ("admission", "v1"),
            ("eventratelimit.admission", "v1alpha1"),
        )),
    ],
)  # fmt: skip
def test_keys_of_former_versions_warn(key: str, on: str) -> None:
    """Either value of a version that is no longer served is accepted, with a warning that it has no effect."""
    settings = from_options(parse(f"--runtime-config={key}={on}"))
    assert (
        len(settings.warnings) == 1 and f"{key} " in settings.warnings[0] and settings.warnings[0].endswith("no effect")
    )
    assert builtin_catalog(ORCH, enabled=settings.api.runtime.enabled) is builtin_catalog(ORCH)


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("flowcontrol.apiserver.{abbr}.io/v1beta3", False),
        ("flowcontrol.apiserver.{abbr}.io/v1beta2", True),
        ("storage.{abbr}.io/v1alpha1", True),
        ("batch/v1beta1", True),
    ],
)
def test_keys_of_versions_between_the_releases(key: str, known: bool) -> None:
    """Release 1.35 knows versions that it serves no more, and warns; 1.23 does not know those that came after it."""
    name = ORCH(key)
    settings = from_options(parse("--emulated-version=1.35", f"--runtime-config={name}=true"))
    assert f"--runtime-config: {name} is not served by this release: {name} has no effect" in settings.warnings
    if known:
        assert from_options(parse(f"--runtime-config={name}=true")).warnings == ()
    else:
        assert error_of(f"--runtime-config={name}=true").startswith("--runtime-config: unknown API version")


def test_turning_off_an_unknown_resource_warns() -> None:
    """What is not served stays so; to turn it on is an error."""
    settings = from_options(parse("--runtime-config=apps/v1/deployment=false"))
    assert settings.warnings == (
        '--runtime-config: unknown resource of apps/v1 "deployment": did you mean "deployments"?: apps/v1/deployment has no effect',
    )
    assert builtin_catalog(ORCH, enabled=settings.api.runtime.enabled) is builtin_catalog(ORCH)


@pytest.mark.parametrize("group", ["apiextensions", "admissionregistration"])
def test_versions_that_only_their_own_key_enables(group: str) -> None:
    """Versions that the reference has removed are not among those of api/all and api/beta."""
    group = ORCH(f"{group}.{{abbr}}.io")
    for value, on in (
        ("api/all=true,api/beta=true", False),
        (f"{group}/v1beta1=true", True),
        (f"{group}/v1beta1", True),
    ):
        runtime = from_options(parse(f"--runtime-config={value}")).api.runtime
        assert runtime.enabled(group, "v1beta1", False) is on


def test_always_allow_turns_anonymous_off() -> None:
    """AlwaysAllow disables anonymous requests, with a warning in the log."""
    settings = from_options(parse("--authorization-mode=AlwaysAllow"))
    assert not settings.authentication.anonymous and settings.warnings


def test_feature_gates_and_their_groups() -> None:
    """AllAlpha and AllBeta set every gate of their stage; a gate's own value takes precedence."""
    features = from_options(parse("--feature-gates=AllBeta=true,PodSecurity=false")).api.features
    assert features["PodSecurity"] is False and features["ProbeTerminationGracePeriod"] is True
    features = from_options(parse("--feature-gates=AllBeta=false,AllAlpha=true,APIListChunking=true")).api.features
    for gate in GATES:
        stage = gate.stage()
        expected = {"alpha": True, "beta": gate.name == "APIListChunking"}.get(stage.name if stage else "")
        assert features.get(gate.name) is expected, gate.name


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), False),
        (("--dialect=kubernetes", "--emulated-version=1.23"), True),
        (
            (
                "--dialect=kubernetes",
                "--emulated-version=1.23",
                "--feature-gates=CustomResourceValidationExpressions=false",
            ),
            False,
        ),
        (("--dialect=kubernetes", "--emulated-version=1.23", "--feature-gates=AllAlpha=false"), False),
        (("--feature-gates=CustomResourceValidationExpressions=true",), True),
    ],
)
def test_gates_of_the_dialect(flags: tuple[str, ...], expected: bool) -> None:
    """The rules of custom kinds are on by default in the dialect of stock clients only; the flag takes precedence."""
    assert from_options(parse(*flags)).api.features.get("CustomResourceValidationExpressions", False) is expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), "1.23"),
        (("--dialect=kubernetes",), NEWEST.name),
        (("--emulated-version=1.35",), "1.35"),
        (("--emulated-version=1.23", "--dialect=kubernetes"), "1.23"),
    ],
)
def test_release_of_the_dialect(flags: tuple[str, ...], expected: str) -> None:
    """The default release is that of the specification, in the dialect of stock clients the newest; the flag takes
    precedence."""
    options = parse(*flags)
    assert from_options(options).release.name == options.value("emulated-version") == expected
    assert flags or from_options(parse()).release is SPECIFICATION


def test_graduated_and_deprecated_gates_warn() -> None:
    """A gate that is always on may be given its value, with a warning in the log; so may a deprecated one."""
    settings = from_options(parse("--feature-gates=WatchBookmark=true,DynamicOrchletConfig=true,AppArmor=true"))
    assert settings.warnings == (
        "--feature-gates: Setting GA feature gate WatchBookmark=true. It will be removed in a future release.",
        "--feature-gates: Setting deprecated feature gate DynamicOrchletConfig=true. It will be removed in a future release.",
    )


def test_gates_choose_controllers_and_plugins() -> None:
    """A controller or plugin whose gate is off does not run, even if it is named."""
    off = "--feature-gates=ExpandPersistentVolumes=false,PodSecurity=false"
    for gates, expected in (("--feature-gates=AppArmor=false", True), (off, False)):
        parsed = from_options(
            parse(gates, "--controllers=*,persistentvolume-expander", "--enable-admission-plugins=PodSecurity")
        )
        assert ("persistentvolume-expander" in parsed.controllers.names) is expected
        assert ("PodSecurity" in parsed.admission.plugins) is expected


def test_help_exits_with_success(capsys: pytest.CaptureFixture[str]) -> None:
    """--help prints the flags with their help and exits with status 0."""
    with pytest.raises(SystemExit) as caught:
        parse("--help")
    assert caught.value.code == 0
    assert "--secure-port=int" in capsys.readouterr().out


def test_twistd_exits_with_an_error_status() -> None:
    """Under twistd an invalid flag ends the process with its message and a status other than 0."""
    with pytest.raises(SystemExit) as caught:
        TwistdOptions().parseOptions(["--nope=1"])
    assert isinstance(caught.value.code, str) and "--nope" in caught.value.code


def test_values_as_they_are_shown_are_flags() -> None:
    """A value as help and errors show it can be given in a flag file."""
    first = from_mapping({"secure-port": "7", "controllers": "-*", "request-timeout": "90s"})
    flags = [f for f in first.flags if f.name not in ("help", "version", "flagfile") and not f.lacking(SPECIFICATION)]
    text = "".join(f"--{flag.spelled()}={flag.type.show(first.value(flag.name))}\n" for flag in flags)
    second = parse("--flagfile=F", files={"F": text})
    assert [second.value(flag.name) for flag in flags] == [first.value(flag.name) for flag in flags]


def test_table_has_every_reference_flag(reference: Callable[[str], Any]) -> None:
    """The tables have every flag of the reference, with its default except for documented differences."""
    flags = {flag.spelled(): flag for flag in table()}
    facts = reference("bootstrap")
    for part in ("flags_apiserver", "flags_controller_manager", "flags_scheduler"):
        for fact in facts[part]:
            assert fact["name"] in flags
    for fact in facts["flags_apiserver"]:
        flag = flags[fact["name"]]
        assert flag.help
        assert flag.deprecated == bool(fact.get("deprecated"))
        if fact["name"] not in ("cert-dir", "authorization-mode"):
            assert ORCH(flag.default) == fact.get("default", "").strip("[]")


def test_show_every_default() -> None:
    """Every default can be formatted, and no flag is in the table twice in any spelling."""
    options = parse()
    for flag in options.flags:
        flag.type.show(options.by_name[flag.name])
    assert len({s for f in options.flags for s in {f.spelled()}}) == len(options.flags)


def test_object_settings_follow_flags() -> None:
    """Settings that kinds depend on follow from the flags."""
    parsed = object_settings(
        from_options(
            parse("--allow-privileged", "--service-node-port-range=100-200", "--feature-gates=IndexedJob=false")
        )
    )
    assert parsed.allow_privileged and parsed.node_ports == (100, 200) and not parsed.feature("IndexedJob")


@pytest.mark.parametrize(
    ("argv", "warnings"),
    [
        (["--log-flush-frequency=1s"], ["--log-flush-frequency: has no effect: each log line is written at once"]),
        (["--log-flush-frequency=5s", "--contention-profiling=false"], []),
        (["--flagfile=F"], ["F:2: --contention-profiling: has no effect: the server runs in one thread without locks"]),
        (["--admission-control=LimitRanger"], ["--admission-control: is deprecated"]),
        (["--enable-admission-plugins=DenyEscalatingExec"], ["the admission plugin DenyEscalatingExec is deprecated"]),
    ],
)
def test_deprecated_flags_and_flags_without_effect_warn(argv: list[str], warnings: list[str]) -> None:
    """A deprecated flag is accepted with a warning, and so is a value that can have no effect; the default is not
    warned about."""
    options = parse(*argv, files={"F": "\n--contention-profiling"})
    assert options.settings is not None and list(options.settings.warnings) == warnings


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("--dialect=", "--dialect: needs one of orch, kubernetes"),
        ("--etcd-servers=https://[::1", "--etcd-servers: 'https://[::1' is not http://host:port"),
        ("--etcd-servers=https://h:99999", "--etcd-servers: 'https://h:99999' is not http://host:port"),
        ("--service-account-issuer=https://[::1", "--service-account-issuer: "),
        ("--service-account-jwks-uri=https://[::1", "--service-account-jwks-uri: "),
        ("--scheduler-flagfile=a\x00b", "--flagfile: cannot read a\x00b: "),
        ("--simulated-nodes=-1", "--simulated-nodes: must be at least 0"),
        ("--audit-log-maxage=-1", "--audit-log-maxage: must be at least 0"),
        ("--node-eviction-rate=-0.1", "--node-eviction-rate: must be at least 0"),
        ("--concurrent-gc-syncs=0", "--concurrent-gc-syncs: must be at least 1"),
        ("--history-events=9223372036854775808", "--history-events: is not a number of 64 bits"),
        ("--controllers=a\nb", '--controllers: unknown controller "a\\nb"'),
    ],
)
def test_odd_values_are_one_line(argv: str, message: str) -> None:
    """A value that no flag of its type can have is refused in one line that names the flag."""
    if "\x00" in argv:
        with pytest.raises(UsageError) as caught:
            Options().parseOptions([argv])
        assert str(caught.value).startswith(message)
        return
    text = error_of(argv)
    assert text.startswith(message) and "\n" not in text


def test_negative_numbers_that_mean_something() -> None:
    """A negative threshold turns the collection of ended pods off."""
    assert parse("--terminated-pod-gc-threshold=-1")["terminated-pod-gc-threshold"] == -1


@pytest.mark.parametrize(
    ("release", "flag", "why"),
    [
        ("1.35", "--pod-eviction-timeout=5m0s", "release 1.35 has no such flag: 1.27 has removed it"),
        ("1.35", "--apiserver-count=1", "release 1.35 has no such flag: 1.35 has removed it"),
        ("1.23", "--concurrent-job-syncs=7", "release 1.23 has no such flag: it begins with 1.27"),
        ("1.23", "--requestheader-uid-headers=x", "release 1.23 has no such flag: it begins with 1.32"),
    ],
)
def test_flags_of_other_releases_are_refused(release: str, flag: str, why: str) -> None:
    """A flag is refused in releases without it, also with its default, and accepted in the others."""
    name = flag.partition("=")[0]
    assert error_of(f"--emulated-version={release}", flag) == f"{name}: {why}"
    other = {"1.23": "1.35", "1.35": "1.23"}[release]
    assert parse(f"--emulated-version={other}", flag).explicit


@pytest.mark.parametrize(("release", "seconds"), [("1.23", 40.0), ("1.35", 50.0)])
def test_defaults_follow_the_release(release: str, seconds: float) -> None:
    """The default of a flag is that of the emulated release; a given value is kept in each."""
    flag = f"--emulated-version={release}"
    assert parse(flag)["node-monitor-grace-period"] == seconds
    assert from_options(parse(flag)).controllers.flags["node-monitor-grace-period"] == seconds
    assert parse(flag, "--node-monitor-grace-period=40s")["node-monitor-grace-period"] == 40.0
