"""Whether the schema in a definition is a good one, in the reference's words and order.

`keywords` holds the rules about single keywords, `structural` those that make a schema structural, `defaults` those about
default values, `options` what an update of an older definition is let off; `schema` is the entrance.
"""
