"""Flags of the scheduler, release 1.23. Rows have the form described in `table.py`; shared rows are in `shared.py`."""

from typing import Final

from orchd.config.table import Row

#: Rows of `shared.SHARED` that this component accepts as well.
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
    "log-flush-frequency", "logging-format", "v", "vmodule", "alsologtostderr", "help", "logtostderr", "stderrthreshold",
    "version",
)

FLAGS: Final[tuple[Row, ...]] = (
    ("config", "string", "", "built",
     "Configuration file of the scheduler."),
    ("write-config-to", "string", "", "own",
     "Write the effective configuration to this file and exit."),
    ("secure-port", "int", "10259", "built",
     "HTTPS port; 0 serves no HTTPS."),
    ("authentication-tolerate-lookup-failure", "bool", "true", "own",
     "Continue if authentication settings cannot be looked up in the cluster."),
    ("contention-profiling", "bool", "true", "noop=locks deprecated",
     "Profile lock contention, if profiling is enabled."),
    ("{short}-api-burst", "int", "100", "own deprecated",
     "Number of requests to the API server allowed in a burst before throttling."),
    ("{short}-api-content-type", "string", "application/vnd.{long}.protobuf", "own deprecated",
     "Media type of requests to the API server, and of its responses if the flag is given; responses are JSON by default."),
    ("{short}-api-qps", "float", "50", "own deprecated signed",
     "Maximum requests per second to the API server."),
    ("{short}config", "string", "", "own deprecated",
     "Client configuration file for the API server."),
    ("lock-object-name", "string", "{short}-scheduler", "own deprecated",
     "Name of the lock object. Superseded by --leader-elect-resource-name."),
    ("lock-object-namespace", "string", "{short}-system", "own deprecated",
     "Namespace of the lock object. Superseded by --leader-elect-resource-namespace."),
    ("profiling", "bool", "true", "built deprecated",
     "Serve profiles under /debug/pprof/."),
    ("leader-elect-resource-name", "string", "{short}-scheduler", "built",
     "Name of the lock object."),
)
