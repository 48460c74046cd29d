"""Objects of custom kinds against the JSON schema of their definition, in the reference's words.

`compiled` makes a check of a schema, `formats` knows the formats of strings, `patterns` the dialect of regular
expressions, `listtypes` and `embedded` the rules that need paths with indexes, `scale` the numbers behind the scale
subresource, `objects` puts them in order for a whole object. Pure; compiled once per kind and version.
"""
