"""The built-in kinds: one table per API group and version, data without code.

Owns the rows of kinds, and names, protobuf numbers, merge keys and list types of fields. A module has `GROUP`, `VERSION`,
`DEFINITIONS` (prefix of the names under which OpenAPI publishes its types, "" for none), `RESOURCES` (rows), `TYPES` (field
lines by type), and where there are any, `UNPUBLISHED` (types that OpenAPI does not list) and `ATOMIC` (structs that
server-side apply owns as one). The list of a kind has no entry in `TYPES` if its fields are metadata and items.

Must not contain logic: `orchd.kinds.ir` interprets types, `orchd.kinds.rows` describes rows. May import rows.
"""
