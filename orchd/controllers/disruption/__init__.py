"""Pod disruption budgets: how many of the pods that a budget selects may be evicted now.

Owns the disruption controller, whose status the eviction subresource reads and charges. Must not reach into the server. May
import client and kinds.
"""
