"""The persistentvolume-binder: matching of claims with volumes, and reclaiming of volumes whose claim was deleted.

Owns the phases of claims and volumes. External provisioners create and delete volumes. May import what controllers
import.
"""
