"""Changes to objects: JSON patch, merge patch, strategic merge, server-side apply.

Owns patch algorithms, field paths and managed fields. Must not depend on requests. May import ir, catalog and objects.
"""
