"""API aggregation: availability of API groups served by other servers, and forwarding of requests.

Owns aggregated APIServices and their conditions. Must not authorize: the pipeline has done that before.
"""
