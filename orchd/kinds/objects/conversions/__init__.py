"""Conversions between versions with different members: `renames`, `autoscalers` (metrics in annotations of v1),
`definitions`, `custom`. Applied by `orchd.kinds.objects.convert`.
"""
