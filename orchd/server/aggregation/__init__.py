"""API groups that other servers answer: whether they could, and forwarding requests to them.

Owns what is registered elsewhere and the condition of each APIService. Must not decide who may ask: that is done before.
"""
