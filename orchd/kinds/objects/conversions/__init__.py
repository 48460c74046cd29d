"""Where versions of a kind differ in form: `renames` (members under other names), `autoscalers` (metrics that version 1
keeps in annotations). `orchd.kinds.objects.convert` applies them.
"""
