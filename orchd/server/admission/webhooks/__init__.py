"""Admission by other programs: which webhooks a write concerns, what they are sent, and what their answers do."""
