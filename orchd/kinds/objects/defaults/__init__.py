"""Defaults: what the server fills in when a client leaves it out.

`engine.apply` is the entrance. Rules are functions by type name in the tables of `core`, `workloads` and `policies`;
the engine applies them wherever the type occurs, outer before inner, and skips subtrees that have none. `gates` drops
members whose feature is off. Values that come from create strategies, allocators or admission are not defaults.
"""
