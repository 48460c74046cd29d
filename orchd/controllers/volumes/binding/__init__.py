"""The persistentvolume-binder: which claim gets which volume, and what becomes of volumes whose claim was deleted.

Owns the phases of claims and volumes. Volumes are made and destroyed by external provisioners. May import what
controllers import.
"""
