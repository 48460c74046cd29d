"""Validation of the schemas in definitions, with the reference's messages and order.

`keywords` has the rules of single keywords, `structural` those of structural schemas, `defaults` those of default
values, `rules` those of rules and their expressions (`dropped_rules` removes them while their feature gate is off),
`options` the exemptions for updates of older definitions. `schema` is the entry point.
"""
