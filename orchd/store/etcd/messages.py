"""The messages of etcd's API (v3, rpc.proto and kv.proto of etcd 3.5): only the used fields, of client and server.

Protobuf classes are built from the tables at import. Instances are `Any`: the library creates their attributes at run
time.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "etcd"

#: message: its fields as ``name number type``; ``*`` repeats; ``name|`` marks members of the message's only oneof.
_TABLE: Final[dict[str, str]] = {
    "ResponseHeader": "cluster_id 1 uint64; member_id 2 uint64; revision 3 int64; raft_term 4 uint64",
    "KeyValue": "key 1 bytes; create_revision 2 int64; mod_revision 3 int64; version 4 int64; value 5 bytes; lease 6 int64",
    "Event": "type 1 int32; kv 2 KeyValue; prev_kv 3 KeyValue",
    "RangeRequest": "key 1 bytes; range_end 2 bytes; limit 3 int64; revision 4 int64; sort_order 5 int32; sort_target 6 int32;"
    " keys_only 8 bool; count_only 9 bool; min_mod_revision 10 int64; max_mod_revision 11 int64;"
    " min_create_revision 12 int64; max_create_revision 13 int64",
    "RangeResponse": "header 1 ResponseHeader; kvs 2 *KeyValue; more 3 bool; count 4 int64",
    "PutRequest": "key 1 bytes; value 2 bytes; lease 3 int64; prev_kv 4 bool; ignore_value 5 bool; ignore_lease 6 bool",
    "PutResponse": "header 1 ResponseHeader; prev_kv 2 KeyValue",
    "DeleteRangeRequest": "key 1 bytes; range_end 2 bytes; prev_kv 3 bool",
    "DeleteRangeResponse": "header 1 ResponseHeader; deleted 2 int64; prev_kvs 3 *KeyValue",
    "Empty": "",
    "RequestOp": "range| 1 RangeRequest; put| 2 PutRequest; delete_range| 3 DeleteRangeRequest; txn| 4 TxnRequest",
    "ResponseOp": "range| 1 RangeResponse; put| 2 PutResponse; delete_range| 3 DeleteRangeResponse; txn| 4 TxnResponse",
    "Compare": "result 1 int32; target 2 int32; key 3 bytes; version| 4 int64; create_revision| 5 int64; mod_revision| 6 int64;"
    " value| 7 bytes; lease| 8 int64; range_end 64 bytes",
    "TxnRequest": "compare 1 *Compare; success 2 *RequestOp; failure 3 *RequestOp",
    "TxnResponse": "header 1 ResponseHeader; succeeded 2 bool; responses 3 *ResponseOp",
    "CompactionRequest": "revision 1 int64; physical 2 bool",
    "CompactionResponse": "header 1 ResponseHeader",
    "WatchCreate": "key 1 bytes; range_end 2 bytes; start_revision 3 int64; progress_notify 4 bool; filters 5 *int32; prev_kv 6 bool;"
    " watch_id 7 int64; fragment 8 bool",
    "WatchCancel": "watch_id 1 int64",
    "WatchRequest": "create| 1 WatchCreate; cancel| 2 WatchCancel; progress| 3 Empty",
    "WatchResponse": "header 1 ResponseHeader; watch_id 2 int64; created 3 bool; canceled 4 bool;"
    " compact_revision 5 int64; cancel_reason 6 string; fragment 7 bool; events 11 *Event",
    "LeaseGrantRequest": "ttl 1 int64; id 2 int64",
    "LeaseGrantResponse": "header 1 ResponseHeader; id 2 int64; ttl 3 int64; error 4 string",
    "LeaseRevokeRequest": "id 1 int64",
    "LeaseRevokeResponse": "header 1 ResponseHeader",
    "LeaseKeepAliveRequest": "id 1 int64",
    "LeaseKeepAliveResponse": "header 1 ResponseHeader; id 2 int64; ttl 3 int64",
    "LeaseTimeToLiveRequest": "id 1 int64; keys 2 bool",
    "LeaseTimeToLiveResponse": "header 1 ResponseHeader; id 2 int64; ttl 3 int64; granted_ttl 4 int64; keys 5 *bytes",
    "LeaseStatus": "id 1 int64",
    "LeaseLeasesResponse": "header 1 ResponseHeader; leases 2 *LeaseStatus",
    "StatusResponse": "header 1 ResponseHeader; version 2 string; size 3 int64; leader 4 uint64; raft_index 5 uint64;"
    " raft_term 6 uint64; raft_applied_index 7 uint64; errors 8 *string; size_in_use 9 int64",
    "AlarmRequest": "action 1 int32",
    "AlarmResponse": "header 1 ResponseHeader",
    "Member": "id 1 uint64; name 2 string; peer_urls 3 *string; client_urls 4 *string",
    "MemberListResponse": "header 1 ResponseHeader; members 2 *Member",
}

#: Values of Compare.result and Compare.target.
EQUAL: Final = 0
NOT_EQUAL: Final = 3
GREATER: Final = 1
LESS: Final = 2
VERSION: Final = 0
CREATE_REVISION: Final = 1
MOD_REVISION: Final = 2
VALUE: Final = 3
LEASE: Final = 4
#: Value of Event.type.
DELETED: Final = 1

# Methods by name: the paths of their calls.
RANGE: Final = "/etcdserverpb.KV/Range"
PUT: Final = "/etcdserverpb.KV/Put"
DELETE_RANGE: Final = "/etcdserverpb.KV/DeleteRange"
TXN: Final = "/etcdserverpb.KV/Txn"
COMPACT: Final = "/etcdserverpb.KV/Compact"
WATCH: Final = "/etcdserverpb.Watch/Watch"
LEASE_GRANT: Final = "/etcdserverpb.Lease/LeaseGrant"
LEASE_REVOKE: Final = "/etcdserverpb.Lease/LeaseRevoke"
LEASE_KEEP_ALIVE: Final = "/etcdserverpb.Lease/LeaseKeepAlive"
LEASE_TIME_TO_LIVE: Final = "/etcdserverpb.Lease/LeaseTimeToLive"
LEASE_LEASES: Final = "/etcdserverpb.Lease/LeaseLeases"
STATUS: Final = "/etcdserverpb.Maintenance/Status"
ALARM: Final = "/etcdserverpb.Maintenance/Alarm"
MEMBER_LIST: Final = "/etcdserverpb.Cluster/MemberList"


def _build() -> dict[str, Any]:
    """One class per message, in a separate pool: other libraries may define etcd's messages as well."""
    field = descriptor_pb2.FieldDescriptorProto
    scalars = {
        "int32": field.TYPE_INT32, "int64": field.TYPE_INT64, "uint64": field.TYPE_UINT64, "bool": field.TYPE_BOOL,
        "bytes": field.TYPE_BYTES, "string": field.TYPE_STRING,
    }  # fmt: skip
    file = descriptor_pb2.FileDescriptorProto(name="etcd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _TABLE.items():
        message = file.message_type.add(name=name)
        for row in filter(None, fields.split(";")):
            label, number, type_ = row.split()
            descriptor = message.field.add(name=label.rstrip("|"), number=int(number))
            descriptor.label = field.LABEL_REPEATED if type_[0] == "*" else field.LABEL_OPTIONAL
            type_ = type_.lstrip("*")
            if type_ in scalars:
                descriptor.type = scalars[type_]
            else:
                descriptor.type, descriptor.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{type_}"
            if label[-1] == "|":
                if not message.oneof_decl:
                    message.oneof_decl.add(name="one")
                descriptor.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _TABLE}


_CLASSES: Final = _build()

RangeRequest: Final[Any] = _CLASSES["RangeRequest"]
RangeResponse: Final[Any] = _CLASSES["RangeResponse"]
PutRequest: Final[Any] = _CLASSES["PutRequest"]
PutResponse: Final[Any] = _CLASSES["PutResponse"]
DeleteRangeRequest: Final[Any] = _CLASSES["DeleteRangeRequest"]
DeleteRangeResponse: Final[Any] = _CLASSES["DeleteRangeResponse"]
RequestOp: Final[Any] = _CLASSES["RequestOp"]
TxnRequest: Final[Any] = _CLASSES["TxnRequest"]
TxnResponse: Final[Any] = _CLASSES["TxnResponse"]
CompactionRequest: Final[Any] = _CLASSES["CompactionRequest"]
CompactionResponse: Final[Any] = _CLASSES["CompactionResponse"]
WatchRequest: Final[Any] = _CLASSES["WatchRequest"]
WatchResponse: Final[Any] = _CLASSES["WatchResponse"]
LeaseGrantRequest: Final[Any] = _CLASSES["LeaseGrantRequest"]
LeaseGrantResponse: Final[Any] = _CLASSES["LeaseGrantResponse"]
LeaseRevokeRequest: Final[Any] = _CLASSES["LeaseRevokeRequest"]
LeaseRevokeResponse: Final[Any] = _CLASSES["LeaseRevokeResponse"]
LeaseKeepAliveRequest: Final[Any] = _CLASSES["LeaseKeepAliveRequest"]
LeaseKeepAliveResponse: Final[Any] = _CLASSES["LeaseKeepAliveResponse"]
LeaseTimeToLiveRequest: Final[Any] = _CLASSES["LeaseTimeToLiveRequest"]
LeaseTimeToLiveResponse: Final[Any] = _CLASSES["LeaseTimeToLiveResponse"]
LeaseLeasesResponse: Final[Any] = _CLASSES["LeaseLeasesResponse"]
StatusResponse: Final[Any] = _CLASSES["StatusResponse"]
AlarmRequest: Final[Any] = _CLASSES["AlarmRequest"]
AlarmResponse: Final[Any] = _CLASSES["AlarmResponse"]
MemberListResponse: Final[Any] = _CLASSES["MemberListResponse"]
