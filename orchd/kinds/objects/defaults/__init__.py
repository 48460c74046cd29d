"""Default rules by type name: `core`, `workloads`, `policies`. Applied by `orchd.kinds.objects.default`.

Values set by strategies, allocators or admission are not defaults.
"""
