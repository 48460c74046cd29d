"""Custom kinds at run time: tracks CustomResourceDefinitions and maintains the served catalog.

Owns the set of custom kinds, their names and conditions, deletion of their instances, and reading of objects stored
under an older schema. Must not serve requests: custom and built-in kinds share the same code. May import client, kinds,
txkit, registry.interfaces, cache.interfaces and the format of stored bytes (cache.stored_encoding).
"""
