"""Objects that exist from the start: namespaces, the API's own service, priority classes, flow schemas, API services.

Owns what a fresh cluster holds, as data and as one idempotent step each. Must not decide when. May import
client.interfaces and kinds.
"""
