"""Flags that only this server has."""

from typing import Final

from orchd.config.flag import Flag
from orchd.config.values import BOOL, DURATION, INT, PAIRS, STRING, STRING_ARRAY, STRINGS
from orchd.dialect import DIALECTS, KUBERNETES, ORCH
from orchd.kinds.release import RELEASES, default_release

FLAGS: Final[tuple[Flag, ...]] = (
    Flag("data-dir", STRING, "./orchd-data",
         "Directory of the store, keys and certificates. Created at the first start."),
    Flag("dialect", STRING, ORCH.name,
         "Names in the API: those of the specification, or those of stock clients. Recorded in the store, which rejects "
         "the other dialect.", choices=tuple(DIALECTS)),
    Flag("emulated-version", STRING, default_release(ORCH).name,
         "Release of the API that is served: its kinds, fields, defaults, rules, controllers and scheduling. 1.23 is that of the "
         "specification. Recorded in the store: a higher one upgrades the objects, a lower one is rejected.",
         stock_default=default_release(KUBERNETES).name, choices=tuple(RELEASES)),
    Flag("flagfile", STRING_ARRAY, "",
         "File with one flag per line and # comments; may be repeated. Its flags apply in place of this one."),
    Flag("controller-manager-flagfile", STRING, "",
         "Flag file that overrides flags for the controllers of this process only: their own flags, and those of leader "
         "election."),
    Flag("scheduler-flagfile", STRING, "",
         "Flag file that overrides flags for the scheduler of this process only: its own flags, and those of leader "
         "election."),
    Flag("history-duration", DURATION, "5m0s",
         "Retention of past revisions, for watches, lists at a past resourceVersion and continue tokens."),
    Flag("scheduler", BOOL, "true",
         "Run the scheduler in this process."),
    Flag("processes", STRING, "1",
         "Number of processes that serve requests, or auto for one per processor. One process owns the store, runs controllers and "
         "scheduler, and restarts the others; it serves too if there are two, and is a further one if there are more."),
    Flag("ui", STRING, "auto",
         "Serve the web page at /ui. auto: to clients on this machine; true: also to clients on other machines that may "
         "get the path; false: not at all.", choices=("auto", "true", "false")),
    Flag("history-events", INT, "100000",
         "Maximum number of changes in the history of the embedded store."),
    Flag("authentication-config", STRING, "",
         "AuthenticationConfiguration file: issuers of JSON web tokens, and conditions of anonymous requests. Reloaded "
         "when it changes. Excludes the --oidc-* flags."),
    Flag("authorization-config", STRING, "",
         "AuthorizationConfiguration file: the ordered list of authorizers, with any number of webhooks. Reloaded when it "
         "changes. Excludes --authorization-mode and the --authorization-webhook-* flags."),
    Flag("simulated-nodes", INT, "",
         "Number of simulated nodes, which are Ready and run no containers, while their pods become Running and Ready. 0 "
         "for none."),
    Flag("simulate-annotated-nodes", BOOL, "",
         "Simulate nodes with the annotation kwok.x-{abbr}.io/node=fake too; implied by --simulated-nodes."),
    Flag("simulated-node-capacity", PAIRS, "cpu=8,memory=32Gi,ephemeral-storage=100Gi,pods=110",
         "Capacity of a simulated node; a given map replaces the whole default."),
    Flag("simulated-node-zones", STRINGS, "",
         "Zones among which simulated nodes are distributed."),
    Flag("simulated-missing-images", STRINGS, "",
         "Images that simulated nodes cannot pull, as pods name them: such pods wait with the reason ImagePullBackOff."),
    Flag("simulated-node-startup-delay", DURATION, "",
         "Time from the registration of a simulated node until it is Ready."),
    Flag("simulated-pod-startup-delay", DURATION, "",
         "Time from the binding of a pod to a simulated node until its containers run."),
    Flag("simulated-pod-run-duration", DURATION, "5s",
         "Run time of containers on simulated nodes whose restart policy lets them end."),
)
