"""Objects of versions that servers no longer have, converted to the versions that took their place.

Owns the shapes and defaults of removed versions, for `orchctl convert` alone: no server imports this. May import kinds
and pki. The rules are those of the reference's conversions and defaults of these versions.
"""
