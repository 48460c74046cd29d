"""The built-in kinds: one table per API group and version, data without code.

Owns the rows of kinds, and names, protobuf numbers, merge keys and list types of fields.
Must not contain logic: `orchd.kinds.ir` interprets types, `orchd.kinds.rows` describes rows. May import rows.
"""
