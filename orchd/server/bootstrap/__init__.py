"""Objects that every cluster has: namespaces, the API service, priority classes, flow schemas, APIServices.

Owns the contents of a fresh cluster, as data and as one idempotent step each. Must not decide when to run. May import
client.interfaces and kinds.
"""
