"""Custom kinds: from a CustomResourceDefinition to the same `Type` and `Resource` that built-in kinds have.

`schema` reads the structural schema of a version, `resources` makes what the catalog serves, `scale` says where a
custom kind keeps its replicas. Nothing here knows how definitions are stored or followed. Schemas are read from the
definition's bytes when a kind is first used: a definition that nobody uses costs its bytes and little more.
"""
