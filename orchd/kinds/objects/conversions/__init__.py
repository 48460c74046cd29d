"""The same object in another version of its kind.

`versions.convert` is the entrance. Most versions differ in their name only; those that do not are in `renames`
(members under other names) and `autoscalers` (metrics that version 1 keeps in annotations).
"""
