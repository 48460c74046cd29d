"""The messages of etcd's API (v3, rpc.proto and kv.proto of etcd 3.4): only the used fields.

Protobuf classes are built from the tables at import. Instances are `Any`: the library creates their attributes at run
time.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "etcd"

#: message: its fields as ``name number type``; ``*`` repeats; ``name|`` marks members of the message's only oneof.
_TABLE: Final[dict[str, str]] = {
    "ResponseHeader": "revision 3 int64",
    "KeyValue": "key 1 bytes; create_revision 2 int64; mod_revision 3 int64; value 5 bytes; lease 6 int64",
    "Event": "type 1 int32; kv 2 KeyValue; prev_kv 3 KeyValue",
    "RangeRequest": "key 1 bytes; range_end 2 bytes; limit 3 int64; revision 4 int64; keys_only 8 bool; count_only 9 bool",
    "RangeResponse": "header 1 ResponseHeader; kvs 2 *KeyValue; more 3 bool; count 4 int64",
    "PutRequest": "key 1 bytes; value 2 bytes; lease 3 int64",
    "DeleteRangeRequest": "key 1 bytes; range_end 2 bytes",
    "Empty": "",
    "RequestOp": "range| 1 RangeRequest; put| 2 PutRequest; delete_range| 3 DeleteRangeRequest",
    "ResponseOp": "range| 1 RangeResponse; put| 2 Empty; delete_range| 3 Empty",
    "Compare": "result 1 int32; target 2 int32; key 3 bytes; create_revision| 5 int64; mod_revision| 6 int64",
    "TxnRequest": "compare 1 *Compare; success 2 *RequestOp; failure 3 *RequestOp",
    "TxnResponse": "header 1 ResponseHeader; succeeded 2 bool; responses 3 *ResponseOp",
    "CompactionRequest": "revision 1 int64; physical 2 bool",
    "WatchCreate": "key 1 bytes; range_end 2 bytes; start_revision 3 int64; progress_notify 4 bool; prev_kv 6 bool;"
    " watch_id 7 int64; fragment 8 bool",
    "WatchCancel": "watch_id 1 int64",
    "WatchRequest": "create| 1 WatchCreate; cancel| 2 WatchCancel; progress| 3 Empty",
    "WatchResponse": "header 1 ResponseHeader; watch_id 2 int64; created 3 bool; canceled 4 bool;"
    " compact_revision 5 int64; cancel_reason 6 string; fragment 7 bool; events 11 *Event",
    "LeaseGrantRequest": "ttl 1 int64; id 2 int64",
    "LeaseGrantResponse": "header 1 ResponseHeader; id 2 int64; ttl 3 int64; error 4 string",
    "LeaseTimeToLiveRequest": "id 1 int64",
    "LeaseTimeToLiveResponse": "header 1 ResponseHeader; id 2 int64; ttl 3 int64",
    "StatusResponse": "header 1 ResponseHeader; version 2 string; size 3 int64; leader 4 uint64; errors 8 *string",
}

#: Values of Compare.result and Compare.target.
EQUAL: Final = 0
CREATE_REVISION: Final = 1
MOD_REVISION: Final = 2
#: Value of Event.type.
DELETED: Final = 1

# Methods by name: the paths of their calls.
RANGE: Final = "/etcdserverpb.KV/Range"
TXN: Final = "/etcdserverpb.KV/Txn"
COMPACT: Final = "/etcdserverpb.KV/Compact"
WATCH: Final = "/etcdserverpb.Watch/Watch"
LEASE_GRANT: Final = "/etcdserverpb.Lease/LeaseGrant"
LEASE_TIME_TO_LIVE: Final = "/etcdserverpb.Lease/LeaseTimeToLive"
STATUS: Final = "/etcdserverpb.Maintenance/Status"


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
            made = message.field.add(name=label.rstrip("|"), number=int(number))
            made.label = field.LABEL_REPEATED if type_[0] == "*" else field.LABEL_OPTIONAL
            type_ = type_.lstrip("*")
            if type_ in scalars:
                made.type = scalars[type_]
            else:
                made.type, made.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{type_}"
            if label[-1] == "|":
                if not message.oneof_decl:
                    message.oneof_decl.add(name="one")
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _TABLE}


_CLASSES: Final = _build()

RangeRequest: Final[Any] = _CLASSES["RangeRequest"]
RangeResponse: Final[Any] = _CLASSES["RangeResponse"]
TxnRequest: Final[Any] = _CLASSES["TxnRequest"]
TxnResponse: Final[Any] = _CLASSES["TxnResponse"]
CompactionRequest: Final[Any] = _CLASSES["CompactionRequest"]
WatchRequest: Final[Any] = _CLASSES["WatchRequest"]
WatchResponse: Final[Any] = _CLASSES["WatchResponse"]
LeaseGrantRequest: Final[Any] = _CLASSES["LeaseGrantRequest"]
LeaseGrantResponse: Final[Any] = _CLASSES["LeaseGrantResponse"]
LeaseTimeToLiveRequest: Final[Any] = _CLASSES["LeaseTimeToLiveRequest"]
LeaseTimeToLiveResponse: Final[Any] = _CLASSES["LeaseTimeToLiveResponse"]
StatusResponse: Final[Any] = _CLASSES["StatusResponse"]
