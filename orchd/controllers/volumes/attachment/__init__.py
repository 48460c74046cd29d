"""The attachdetach controller: volumes of pods are attached to the pods' nodes, and detached when no pod there uses
them.

Owns VolumeAttachments and what nodes report as attached. The attaching is done by drivers. May import what controllers
import.
"""
