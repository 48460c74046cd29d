"""Validation of custom objects against the JSON schema of their definition, with the reference's messages.

`compiled` compiles a schema to a check, `formats` checks string formats, `patterns` compiles regular expressions,
`listtypes` and `embedded` check rules that need paths with indexes, `scale` checks the fields of the scale subresource,
`objects` combines them for a whole object. Pure functions; compiled once per kind and version.
"""
