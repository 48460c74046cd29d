"""Pod disruption budgets: the number of selected pods that may be evicted.

Owns the disruption controller, whose status the eviction subresource reads and charges. Must not reach into the server.
May import client and kinds.
"""
