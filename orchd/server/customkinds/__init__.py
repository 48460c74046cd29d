"""Custom kinds at run time: follows CustomResourceDefinitions and keeps the catalog that the server serves from.

Owns which custom kinds there are, their names and conditions, the end of their instances, and reading objects that were
written under an older schema. Must not answer requests: the same code serves these kinds as built-in ones. May import
client, kinds, txkit, registry.interfaces, cache.interfaces and the form of stored bytes (cache.stored).
"""
