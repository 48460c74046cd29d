"""Flags of the scheduler, release 1.23; those that other components share are in `shared.py`."""

from typing import Final

from orchd.config.flag import NO_LOCKS, Flag
from orchd.config.values import BOOL, DURATION, FLOAT, INT, STRING

#: Names of the rows of `shared.SHARED` that this component has too.
FROM_SHARED: Final = (
    "master", "bind-address", "cert-dir", "http2-max-streams-per-connection", "permit-address-sharing",
    "permit-port-sharing", "tls-cert-file", "tls-cipher-suites", "tls-min-version", "tls-private-key-file",
    "tls-sni-cert-key", "authentication-{short}config", "authentication-skip-lookup",
    "authentication-token-webhook-cache-ttl", "client-ca-file", "requestheader-allowed-names",
    "requestheader-client-ca-file", "requestheader-extra-headers-prefix", "requestheader-group-headers",
    "requestheader-username-headers", "authorization-always-allow-paths", "authorization-{short}config",
    "authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl", "leader-elect",
    "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-resource-lock",
    "leader-elect-resource-namespace", "leader-elect-retry-period", "feature-gates", "allow-metric-labels",
    "disabled-metrics", "show-hidden-metrics-for-version", "experimental-logging-sanitization",
    "log-flush-frequency", "logging-format", "v", "vmodule", "alsologtostderr", "help", "logtostderr",
    "stderrthreshold", "version",
    "allow-metric-labels-manifest", "disable-http2-serving", "log-json-info-buffer-size", "log-json-split-stream",
    "log-text-info-buffer-size", "log-text-split-stream", "min-compatibility-version", "requestheader-uid-headers", "address", "port",
)

FLAGS: Final[tuple[Flag, ...]] = (
    Flag("config", STRING, "",
         "Configuration file of the scheduler."),
    Flag("write-config-to", STRING, "",
         "Write the effective configuration to this file and exit.", separate=True),
    Flag("secure-port", INT, "10259",
         "HTTPS port; 0 serves no HTTPS."),
    Flag("authentication-tolerate-lookup-failure", BOOL, "true",
         "Continue if authentication settings cannot be looked up in the cluster.", separate=True),
    Flag("contention-profiling", BOOL, "true",
         "Profile lock contention, if profiling is enabled.", deprecated=True, noop=NO_LOCKS),
    Flag("{short}-api-burst", INT, "100",
         "Number of requests to the API server allowed in a burst before throttling.", separate=True, deprecated=True),
    Flag("{short}-api-content-type", STRING, "application/vnd.{long}.protobuf",
         "Media type of requests to the API server, and of its responses if the flag is given; responses are JSON by "
         "default.", separate=True, deprecated=True),
    Flag("{short}-api-qps", FLOAT, "50",
         "Maximum requests per second to the API server.", least=None, separate=True, deprecated=True),
    Flag("{short}config", STRING, "",
         "Client configuration file for the API server.", separate=True, deprecated=True),
    Flag("lock-object-name", STRING, "{short}-scheduler",
         "Name of the lock object. Superseded by --leader-elect-resource-name.", separate=True, deprecated=True, until="1.24"),
    Flag("lock-object-namespace", STRING, "{short}-system",
         "Namespace of the lock object. Superseded by --leader-elect-resource-namespace.", separate=True, deprecated=True, until="1.24"),
    Flag("profiling", BOOL, "true",
         "Serve profiles under /debug/pprof/, and changes of the verbosity under /debug/flags/v.", deprecated=True),
    Flag("leader-elect-resource-name", STRING, "{short}-scheduler",
         "Name of the lock object."),
    Flag("pod-max-in-unschedulable-pods-duration", DURATION, "5m0s",
         "Time after which a pod that does not fit is tried again.", deprecated=True, void="the queue has its own times", since="1.26"),
)
