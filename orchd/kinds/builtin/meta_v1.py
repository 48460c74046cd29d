"""meta/v1: types in protobuf field order, and the resources served from this version.

Facts of release 1.23; the line format is described in `orchd.kinds.ir`, rows in `orchd.kinds.rows`.
"""

from typing import Final

from orchd.kinds.rows import Row, Types

GROUP: Final = "meta.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.apimachinery.pkg.apis.meta.v1."

UNPUBLISHED: Final[frozenset[str]] = frozenset(
    (
        "ApplyOptions CreateOptions GetOptions GroupKind GroupResource GroupVersion GroupVersionKind "
        "GroupVersionResource List ListOptions PartialObjectMetadata PartialObjectMetadataList PatchOptions RootPaths "
        "Table TableColumnDefinition TableOptions TableRow TableRowCondition TypeMeta UpdateOptions"
    ).split()
)
ATOMIC: Final[frozenset[str]] = frozenset(("LabelSelector", "OwnerReference"))

RESOURCES: Final[tuple[Row, ...]] = ()

TYPES: Final[Types] = {
    "APIGroup": (
        ("name", 1, "string", "required"),
        ("versions", 2, "[]GroupVersionForDiscovery", "required list=atomic@1.35"),
        ("preferredVersion", 3, "GroupVersionForDiscovery", "omit"),
        ("serverAddressByClientCIDRs", 4, "[]ServerAddressByClientCIDR", "omit list=atomic@1.35"),
    ),
    "APIGroupList": (("groups", 1, "[]APIGroup", "required list=atomic@1.35"),),
    "APIResource": (
        ("name", 1, "string", "required"),
        ("singularName", 6, "string", "required"),
        ("namespaced", 2, "bool", "required"),
        ("group", 8, "string", "omit"),
        ("version", 9, "string", "omit"),
        ("kind", 3, "string", "required"),
        ("verbs", 4, "[]string", "required pb=meta/v1.Verbs"),
        ("shortNames", 5, "[]string", "omit list=atomic@1.35"),
        ("categories", 7, "[]string", "omit list=atomic@1.35"),
        ("storageVersionHash", 10, "string", "omit"),
    ),
    "APIResourceList": (
        ("groupVersion", 1, "string", "required"),
        ("resources", 2, "[]APIResource", "required list=atomic@1.35"),
    ),
    "APIVersions": (
        ("versions", 1, "[]string", "required list=atomic@1.35"),
        ("serverAddressByClientCIDRs", 2, "[]ServerAddressByClientCIDR", "required list=atomic@1.35"),
    ),
    "ApplyOptions": (
        ("dryRun", 1, "[]string", "omit list=atomic@1.35"),
        ("force", 2, "bool", "required"),
        ("fieldManager", 3, "string", "required"),
    ),
    "Condition": (
        ("type", 1, "string", "required"),
        ("status", 2, "string", "required"),
        ("observedGeneration", 3, "int64", "omit"),
        ("lastTransitionTime", 4, "time", "required"),
        ("reason", 5, "string", "required"),
        ("message", 6, "string", "required"),
    ),
    "CreateOptions": (
        ("dryRun", 1, "[]string", "omit list=atomic@1.35"),
        ("fieldManager", 3, "string", "omit"),
        ("fieldValidation", 4, "string", "omit"),
    ),
    "DeleteOptions": (
        ("gracePeriodSeconds", 1, "int64", "omit ptr"),
        ("preconditions", 2, "Preconditions", "omit ptr"),
        ("orphanDependents", 3, "bool", "omit ptr"),
        ("propagationPolicy", 4, "string", "omit ptr"),
        ("dryRun", 5, "[]string", "omit list=atomic@1.35"),
        ("ignoreStoreReadErrorWithClusterBreakingPotential", 6, "bool", "omit ptr since=1.32"),
    ),
    "FieldSelectorRequirement": (
        ("key", 1, "string", "required"),
        ("operator", 2, "string", "required"),
        ("values", 3, "[]string", "omit list=atomic"),
    ),
    "GetOptions": (("resourceVersion", 1, "string", "omit"),),
    "GroupKind": (("group", 1, "string", "required"), ("kind", 2, "string", "required")),
    "GroupResource": (("group", 1, "string", "required"), ("resource", 2, "string", "required")),
    "GroupVersion": (("group", 1, "string", "required"), ("version", 2, "string", "required")),
    "GroupVersionForDiscovery": (("groupVersion", 1, "string", "required"), ("version", 2, "string", "required")),
    "GroupVersionKind": (
        ("group", 1, "string", "required"),
        ("version", 2, "string", "required"),
        ("kind", 3, "string", "required"),
    ),
    "GroupVersionResource": (
        ("group", 1, "string", "required"),
        ("version", 2, "string", "required"),
        ("resource", 3, "string", "required"),
    ),
    "LabelSelector": (
        ("matchLabels", 1, "{}string", "omit"),
        ("matchExpressions", 2, "[]LabelSelectorRequirement", "omit list=atomic@1.35"),
    ),
    "LabelSelectorRequirement": (
        ("key", 1, "string", "required merge=key until=1.35"),
        ("key", 1, "string", "required since=1.35"),
        ("operator", 2, "string", "required"),
        ("values", 3, "[]string", "omit list=atomic@1.35"),
    ),
    "List": (("metadata", 1, "ListMeta", "omit"), ("items", 2, "[]raw", "required")),
    "ListMeta": (
        ("selfLink", 1, "string", "omit"),
        ("resourceVersion", 2, "string", "omit"),
        ("continue", 3, "string", "omit"),
        ("remainingItemCount", 4, "int64", "omit ptr"),
    ),
    "ListOptions": (
        ("labelSelector", 1, "string", "omit"),
        ("fieldSelector", 2, "string", "omit"),
        ("watch", 3, "bool", "omit"),
        ("allowWatchBookmarks", 9, "bool", "omit"),
        ("resourceVersion", 4, "string", "omit"),
        ("resourceVersionMatch", 10, "string", "omit"),
        ("timeoutSeconds", 5, "int64", "omit ptr"),
        ("limit", 7, "int64", "omit"),
        ("continue", 8, "string", "omit"),
        ("sendInitialEvents", 11, "bool", "omit ptr since=1.27"),
    ),
    "ManagedFieldsEntry": (
        ("manager", 1, "string", "omit"),
        ("operation", 2, "string", "omit"),
        ("apiVersion", 3, "string", "omit"),
        ("time", 4, "time", "omit ptr"),
        ("fieldsType", 6, "string", "omit"),
        ("fieldsV1", 7, "fieldsv1", "omit ptr"),
        ("subresource", 8, "string", "omit"),
    ),
    "ObjectMeta": (
        ("name", 1, "string", "omit"),
        ("generateName", 2, "string", "omit"),
        ("namespace", 3, "string", "omit"),
        ("selfLink", 4, "string", "omit"),
        ("uid", 5, "string", "omit"),
        ("resourceVersion", 6, "string", "omit"),
        ("generation", 7, "int64", "omit"),
        ("creationTimestamp", 8, "time", "omit ptr@1.35 pb=zero@1.35"),
        ("deletionTimestamp", 9, "time", "omit ptr"),
        ("deletionGracePeriodSeconds", 10, "int64", "omit ptr"),
        ("labels", 11, "{}string", "omit"),
        ("annotations", 12, "{}string", "omit"),
        ("ownerReferences", 13, "[]OwnerReference", "omit merge=uid keys=uid@1.35"),
        ("finalizers", 14, "[]string", "omit merge set@1.35"),
        ("clusterName", 15, "string", "omit until=1.35"),
        ("managedFields", 17, "[]ManagedFieldsEntry", "omit list=atomic@1.35"),
    ),
    "OwnerReference": (
        ("apiVersion", 5, "string", "required"),
        ("kind", 1, "string", "required"),
        ("name", 3, "string", "required"),
        ("uid", 4, "string", "required"),
        ("controller", 6, "bool", "omit ptr"),
        ("blockOwnerDeletion", 7, "bool", "omit ptr"),
    ),
    "PartialObjectMetadata": (("metadata", 1, "ObjectMeta", "omit"),),
    "PartialObjectMetadataList": (
        ("metadata", 1, "ListMeta", "omit"),
        ("items", 2, "[]PartialObjectMetadata", "required"),
    ),
    "Patch": (),
    "PatchOptions": (
        ("dryRun", 1, "[]string", "omit list=atomic@1.35"),
        ("force", 2, "bool", "omit ptr"),
        ("fieldManager", 3, "string", "omit"),
        ("fieldValidation", 4, "string", "omit"),
    ),
    "Preconditions": (("uid", 1, "string", "omit ptr"), ("resourceVersion", 2, "string", "omit ptr")),
    "RootPaths": (("paths", 1, "[]string", "required list=atomic@1.35"),),
    "ServerAddressByClientCIDR": (("clientCIDR", 1, "string", "required"), ("serverAddress", 2, "string", "required")),
    "Status": (
        ("metadata", 1, "ListMeta", "omit"),
        ("status", 2, "string", "omit"),
        ("message", 3, "string", "omit"),
        ("reason", 4, "string", "omit"),
        ("details", 5, "StatusDetails", "omit ptr"),
        ("code", 6, "int32", "omit"),
    ),
    "StatusCause": (("reason", 1, "string", "omit"), ("message", 2, "string", "omit"), ("field", 3, "string", "omit")),
    "StatusDetails": (
        ("name", 1, "string", "omit"),
        ("group", 2, "string", "omit"),
        ("kind", 3, "string", "omit"),
        ("uid", 6, "string", "omit"),
        ("causes", 4, "[]StatusCause", "omit list=atomic@1.35"),
        ("retryAfterSeconds", 5, "int32", "omit"),
    ),
    "Table": (
        ("metadata", 0, "ListMeta", "omit"),
        ("columnDefinitions", 0, "[]TableColumnDefinition", "required list=atomic@1.35"),
        ("rows", 0, "[]TableRow", "required list=atomic@1.35"),
    ),
    "TableColumnDefinition": (
        ("name", 0, "string", "required"),
        ("type", 0, "string", "required"),
        ("format", 0, "string", "required"),
        ("description", 0, "string", "required"),
        ("priority", 0, "int32", "required"),
    ),
    "TableOptions": (("includeObject", 1, "string", "omit"),),
    "TableRow": (
        ("cells", 0, "[]any", "required list=atomic@1.35"),
        ("conditions", 0, "[]TableRowCondition", "omit list=atomic@1.35"),
        ("object", 0, "raw", "omit"),
    ),
    "TableRowCondition": (
        ("type", 0, "string", "required"),
        ("status", 0, "string", "required"),
        ("reason", 0, "string", "omit"),
        ("message", 0, "string", "omit"),
    ),
    "TypeMeta": (("kind", 1, "string", "omit"), ("apiVersion", 2, "string", "omit")),
    "UpdateOptions": (
        ("dryRun", 1, "[]string", "omit list=atomic@1.35"),
        ("fieldManager", 2, "string", "omit"),
        ("fieldValidation", 3, "string", "omit"),
    ),
    "WatchEvent": (("type", 1, "string", "required"), ("object", 2, "raw", "required")),
}
