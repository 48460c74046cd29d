"""Admission webhooks: matching, AdmissionReview requests, and evaluation of responses."""
