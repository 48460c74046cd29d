"""The rules of defaulting, by type name: `core`, `workloads`, `policies`. `orchd.kinds.objects.default` applies them.

Values that come from create strategies, allocators or admission are not defaults.
"""
