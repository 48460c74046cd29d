"""The built-in kinds: one table per API group and version, facts without code.

Owns field names, protobuf numbers, merge keys, list types and the list of resources of each group and version.
Must not hold logic: `orchd.kinds.ir.TypeTable` gives the lines their meaning. May import typing only.
"""
